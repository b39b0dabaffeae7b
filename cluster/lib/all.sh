# shellcheck shell=bash
# Everything that the commands of cluster/ share.

# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=process.sh
. "$(dirname "${BASH_SOURCE[0]}")/process.sh"
# shellcheck source=ports.sh
. "$(dirname "${BASH_SOURCE[0]}")/ports.sh"
# shellcheck source=packages.sh
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
# shellcheck source=build.sh
. "$(dirname "${BASH_SOURCE[0]}")/build.sh"
# shellcheck source=postgres.sh
. "$(dirname "${BASH_SOURCE[0]}")/postgres.sh"
# shellcheck source=nats.sh
. "$(dirname "${BASH_SOURCE[0]}")/nats.sh"
# shellcheck source=settings.sh
. "$(dirname "${BASH_SOURCE[0]}")/settings.sh"
# shellcheck source=node.sh
. "$(dirname "${BASH_SOURCE[0]}")/node.sh"
# shellcheck source=state.sh
. "$(dirname "${BASH_SOURCE[0]}")/state.sh"
