"""The files of deploy/ against one another (`files`), and against a cluster (`live CLUSTER.JSON PORT`)."""

import asyncio
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


def require(condition, what):
    if not condition:
        sys.exit(f"error: {what}")


def documents(path):
    return [entry for entry in yaml.safe_load_all((DEPLOY / path).read_text()) if entry]


def rules():
    return [rule for group in documents("monitoring/rules.yml")[0]["groups"] for rule in group["rules"]]


def metrics_used():
    board = json.loads((DEPLOY / "monitoring/grafana.json").read_text())
    expressions = [rule["expr"] for rule in rules()]
    expressions += [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    return {name for expression in expressions for name in re.findall(r"\b(?:roost|process)_[a-z0-9_]+", expression)}


def settings_known():
    return set(re.findall(r'"(ROOST_[A-Z_]+)"', "".join(path.read_text() for path in (ROOT / "Sources").rglob("*.swift"))))


def check_files():
    # Settings: none that no program knows.
    known = settings_known()
    for path in sorted(DEPLOY.rglob("*")):
        if path.is_file():
            for name in set(re.findall(r"\bROOST_[A-Z_]+\b", path.read_text())):
                require(name in known, f"{path.relative_to(ROOT)} names {name}, which nothing reads")

    # Every alert is explained where it says.
    pages = {}
    for rule in rules():
        page, _, anchor = rule["annotations"].get("runbook", "").partition("#")
        require(page, f"{rule['alert']} names no runbook")
        text = pages.setdefault(page, (ROOT / page).read_text())
        anchors = {re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").lower()).replace(" ", "-")
                   for line in text.splitlines() if line.startswith("#")}
        require(anchor in anchors, f"{rule['alert']}: {page} has no #{anchor}")
        require(rule["alert"] in text, f"{page} does not explain {rule['alert']}")

    # Kubernetes: what the schema cannot know.
    things = {(entry["kind"], entry["metadata"]["name"]): entry for entry in documents("kubernetes/roost.yaml")}
    stateful = things["StatefulSet", "roost"]["spec"]
    pod = stateful["template"]["spec"]
    labels = stateful["template"]["metadata"]["labels"]
    require(stateful["selector"]["matchLabels"].items() <= labels.items(), "the StatefulSet does not select its pods")
    require(("Service", stateful["serviceName"]) in things, "the StatefulSet's Service is missing")
    for kind, name in things:
        if kind == "Service":
            require(things[kind, name]["spec"]["selector"].items() <= labels.items(), f"Service {name} selects nothing")
    drain = int(re.search(r"--timeout (\d+)", json.dumps(pod["containers"][0]["lifecycle"])).group(1))
    require(pod["terminationGracePeriodSeconds"] >= drain + 20, "the grace period does not hold the drain and the stop")
    (job,) = documents("kubernetes/migrate.yaml")
    for spec in (pod, job["spec"]["template"]["spec"]):
        # The Service named roost would else set ROOST_PORT=tcp://… in every pod.
        require(spec.get("enableServiceLinks") is False, "a pod takes Services' variables for settings")

    # compose: three nodes of different names, each behind the proxy.
    services = documents("compose/compose.yaml")[0]["services"]
    nodes = {service["environment"]["ROOST_NODE_NAME"] for service in services.values()
             if "ROOST_NODE_NAME" in (service.get("environment") or {})}
    behind = set(re.findall(r"^\s*server\s+\S+\s+([^:\s]+):", (DEPLOY / "compose/haproxy.cfg").read_text(), re.M))
    require(nodes == behind and len(nodes) == 3, f"compose's nodes {nodes} and its proxy's {behind} differ")


def get(url, token=None):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, timeout=5) as answer:
        return answer.read().decode()


def post(url, body, token=None):
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read() or b"null")


def until(seconds, what, condition):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.1)
    sys.exit(f"error: not within {seconds} s: {what}")


def answers(url):
    try:
        get(url)
        return True
    except OSError:
        return False


def check_metrics(cluster):
    text = get(cluster["nodes"][0]["adminUrl"] + "/metrics")
    there = set(re.findall(r"^([a-z_][a-z0-9_]*)(?:\{|\s)", text, re.M))
    missing = metrics_used() - there
    require(not missing, f"a node has no {', '.join(sorted(missing))}")


async def through_proxy(cluster, base):
    """A socket through the proxy; its node drains; the socket is sent away and finds another node, no request fails."""
    import websockets

    token = post(base + "/v1/auth/anonymous", {"displayName": "Ada"})["accessToken"]

    async def connect():
        socket = await websockets.connect(base.replace("http", "ws") + "/v1/ws", subprotocols=["roost.v1"])
        await socket.send(json.dumps({"op": "hello", "token": token}))
        return socket, json.loads(await asyncio.wait_for(socket.recv(), 10))

    socket, ready = await connect()
    require(ready.get("event") == "ready", "no ready through the proxy")
    left = ready["node"]
    admin = cluster["nodes"][0]["adminUrl"] + "/admin/v1"
    post(f"{admin}/nodes/{left}/drain", {"timeoutSeconds": 60}, cluster["adminToken"])

    closed = asyncio.ensure_future(socket.wait_closed())
    deadline = time.monotonic() + 60
    while not closed.done():
        require(time.monotonic() < deadline, "a drained node kept its socket for a minute")
        user = await asyncio.to_thread(get, base + "/v1/me", token)  # raises where the proxy has no node for it
        require("displayName" in user, "a request failed during a drain")
        await asyncio.sleep(0.05)
    require(socket.close_code == 4010, f"the socket was closed with {socket.close_code}, not 4010")
    for _ in range(6):
        socket, ready = await connect()
        require(ready.get("node") not in (None, left), "a new socket came to the node that was drained")
        await socket.close()


def check_proxy(cluster, folder, port, name, program, spare):
    """One proxy with its configuration of deploy/proxy, its ports those of this cluster."""
    text = (DEPLOY / "proxy" / name).read_text()
    text = re.sub(r"(bind|listen) \S*8000", rf"\1 127.0.0.1:{port}", text, count=1)
    for number, node in enumerate(cluster["nodes"]):
        text = text.replace(f"127.0.0.1:{8080 + number}", node["url"].removeprefix("http://"))
    for large, small in spare.items():  # few descriptors on small machines
        text = text.replace(large, small)
    config = folder / name
    config.write_text(text)
    proxy = subprocess.Popen([*program, str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        base = f"http://127.0.0.1:{port}"
        until(15, f"{program[0]} answers", lambda: answers(base + "/readyz"))
        asyncio.run(through_proxy(cluster, base))
    finally:
        proxy.terminate()
        proxy.wait(10)


def check_live(cluster_file, port):
    cluster = json.loads(pathlib.Path(cluster_file).read_text())
    folder = pathlib.Path(cluster_file).parent
    check_metrics(cluster)
    check_proxy(cluster, folder, port, "haproxy.cfg", ["haproxy", "-db", "-f"], {"maxconn 200000": "maxconn 100"})
    if not shutil.which("nginx") or os.geteuid() != 0:  # Debian's nginx keeps its logs and bodies where only root may write
        return
    for node in cluster["nodes"]:
        post(f"{cluster['nodes'][0]['adminUrl']}/admin/v1/nodes/{node['name']}/uncordon", {}, cluster["adminToken"])
    for node in cluster["nodes"]:
        until(20, f"{node['name']} is used again", lambda: answers(node["url"] + "/readyz"))
    directives = f"daemon off; pid {folder}/nginx.pid; error_log {folder}/log/nginx.log;"
    check_proxy(cluster, folder, port, "nginx.conf", ["nginx", "-g", directives, "-c"], {"connections 65536": "connections 100"})


if sys.argv[1] == "files":
    check_files()
else:
    check_live(sys.argv[2], sys.argv[3])
