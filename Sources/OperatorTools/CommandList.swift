/// The commands of `roostctl`: one list for its help, its completion and its dispatch.
public enum CommandList {
    public struct Entry: Sendable {
        public let words: String
        public let arguments: String
        public let help: String
        /// Options that mean something to it.
        let options: [String]

        init(_ words: String, options: [String] = [], _ help: String) {
            self.init(words, "", options: options, help)
        }

        init(_ words: String, _ arguments: String, options: [String] = [], _ help: String) {
            self.words = words
            self.arguments = arguments
            self.options = options
            self.help = help
        }
    }

    public static let all: [Entry] = [
        Entry("nodes", "the nodes, what is wanted of them, and what they do"),
        Entry("top", options: ["interval", "once"], "a live view of nodes, loads, hand-offs and the busiest actors"),
        Entry("actors", options: ["node", "kind", "sort", "limit"], "awake actors; --sort load shows the busiest first"),
        Entry("actor", "KIND/ID", "one actor: its node, since when and why, its mailbox and routes"),
        Entry("move", "KIND/ID NODE", options: ["no-wait"], "moves one actor to a node and keeps it there; the same as pin"),
        Entry("pin", "KIND/ID NODE", options: ["no-wait"], "keeps one actor on a node, apart from its shard"),
        Entry("unpin", "KIND/ID", options: ["no-wait"], "lets it go back to its shard"),
        Entry("pins", "what is pinned where"),
        Entry("cordon", "NODE", "no new shards for a node; stays over its restarts"),
        Entry("uncordon", "NODE", "uses a node again, also after a drain"),
        Entry(
            "drain", "NODE", options: ["dry-run", "timeout", "no-wait"], "moves everything off a node and sends its clients away"),
        Entry("rebalance plan", options: ["max-moves"], "what would be moved to even the nodes out"),
        Entry(
            "rebalance apply", "[PLAN]", options: ["max-moves", "max-concurrent-moves", "no-wait"],
            "evens the nodes out, by a plan that was shown or a fresh one"),
        Entry("rebalance watch", "[OPERATION]", "follows what is under way"),
        Entry("rebalance pause", "[OPERATION]", "begins no more moves for now"),
        Entry("rebalance resume", "[OPERATION]", "goes on"),
        Entry("rebalance cancel", "[OPERATION]", "ends what is under way; moves that have begun are finished"),
        Entry("operations", options: ["limit"], "drains, rebalances and pins, the newest first"),
        Entry("users list", "[QUERY]", options: ["limit"], "accounts, by id, email or name"),
        Entry("users suspend", "USER", "no login until unsuspend, and out everywhere"),
        Entry("users unsuspend", "USER", "lets a user log in again"),
        Entry("users logout", "USER", "logs a user out everywhere"),
        Entry("users delete", "USER", "erases an account"),
        Entry("users export", "USER", "all that is held about a person, as JSON"),
        Entry("audit", options: ["limit"], "who did what, the newest first"),
        Entry(
            "migrate", options: ["database-url", "migrations"],
            "brings the database's schema up to date; safe at any time, by several at once"),
        Entry(
            "check", options: ["repair", "database-url"],
            "looks through the database for what must not be, and with --repair mends what is certain"),
        Entry("completion", "bash|zsh|fish", "a script that completes these commands in a shell"),
    ]

    public static var usage: String {
        let width = all.map { $0.words.count + $0.arguments.count + 1 }.max() ?? 0
        let commands = all.map { entry in
            let left = entry.words + (entry.arguments.isEmpty ? "" : " " + entry.arguments)
            let options = entry.options.isEmpty ? "" : " [" + entry.options.map { "--\($0)" }.joined(separator: " ") + "]"
            return "  " + left + String(repeating: " ", count: width - left.count + 2) + entry.help + options
        }
        return """
            roostctl operates a Roost cluster.

            Usage: roostctl COMMAND [options]

            \(commands.joined(separator: "\n"))

            Where:
              --cluster FILE       cluster.json of the launcher: addresses and token
              --admin-url URL,…    admin listeners (ROOST_ADMIN_URL)
              --admin-token TOKEN  better given as ROOST_ADMIN_TOKEN
              --database-url URL   for migrate and check (ROOST_POSTGRES_URL)
              --as NAME            what you are called in the audit
            Output:
              --json               JSON, one value a line
              --no-color           no colours on a terminal either (NO_COLOR)

            Exit code: 0 done; 1 refused or failed; 2 wrong usage; 3 nothing answers; 4 no such thing; 5 not possible now.

            """
    }

    /// A script for a shell; nil for one that is not known.
    public static func completion(_ shell: String) -> String? {
        let first = Set(all.map { String($0.words.split(separator: " ")[0]) }).sorted()
        let second = Dictionary(grouping: all.filter { $0.words.contains(" ") }) { String($0.words.split(separator: " ")[0]) }
            .mapValues { $0.map { String($0.words.split(separator: " ")[1]) } }
        let options = (Invocation.flags.union(Invocation.valued)).sorted().map { "--\($0)" }
        switch shell {
        case "bash":
            let cases = second.sorted { $0.key < $1.key }.map { "      \($0.key)) words='\($0.value.joined(separator: " "))' ;;" }
            return """
                _roostctl() {
                  local words='\(first.joined(separator: " "))'
                  if [ "$COMP_CWORD" -gt 1 ]; then
                    case ${COMP_WORDS[1]} in
                \(cases.joined(separator: "\n"))
                      *) words='' ;;
                    esac
                  fi
                  case ${COMP_WORDS[COMP_CWORD]} in -*) words='\(options.joined(separator: " "))' ;; esac
                  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}")
                }
                complete -F _roostctl roostctl

                """
        case "zsh":
            let lines = all.map { "  '\($0.words):\($0.help)'" }
            return """
                #compdef roostctl
                local -a commands
                commands=(
                \(lines.joined(separator: "\n"))
                )
                _arguments '1: :{_describe command commands}' '*: :_files'

                """
        case "fish":
            let lines = all.map { entry in
                let words = entry.words.split(separator: " ")
                let condition =
                    words.count == 1 ? "__fish_use_subcommand" : "__fish_seen_subcommand_from \(words[0])"
                return "complete -c roostctl -f -n '\(condition)' -a \(words.last!) -d '\(entry.help)'"
            }
            return lines.joined(separator: "\n") + "\n"
        default: return nil
        }
    }
}
