"""What a run of schemathesis over /openapi.json knows of the cluster: people, their chats, and ids that exist.

ROOST_OPENAPI_URL names the node. Of generated requests that are meant to be right, most get ids of what is really there, so that
not all of them end as 404. Requests that would spend the token or take away the chats of the user who asks are made by guests, or
upon chats, that nobody needs afterwards.
"""

import json
import os
import random
import urllib.error
import urllib.request

import schemathesis

URL = os.environ["ROOST_OPENAPI_URL"]
PASSWORD = "correct horse battery"

# The token, the account or its password does not survive these.
SPENDING = {
    ("POST", "/v1/auth/logout"),
    ("POST", "/v1/auth/link"),
    ("POST", "/v1/auth/password/change"),
    ("DELETE", "/v1/devices/{deviceId}"),
    ("DELETE", "/v1/me"),
}
# The chat, or the caller's place in it, does not survive these.
CLOSING = {
    ("DELETE", "/v1/conversations/{conversationId}"),
    ("DELETE", "/v1/conversations/{conversationId}/members/{userId}"),
    ("PATCH", "/v1/conversations/{conversationId}/members/{userId}"),
}

choice = random.Random(7)


def call(method, path, body=None, token=None):
    """The answer's status and JSON."""
    request = urllib.request.Request(URL + path, method=method)
    if token:
        request.add_header("Authorization", "Bearer " + token)
    data = None
    if body is not None:
        request.add_header("Content-Type", "application/json")
        data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data, timeout=10) as answer:
            content = answer.read()
            return answer.status, json.loads(content) if content else None
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


def need(answer):
    status, value = answer
    if status >= 300:
        raise RuntimeError(f"the cluster could not be filled: {status} {value}")
    return value


class Person:
    def __init__(self, session):
        self.id = session["user"]["id"]
        self.device = session["deviceId"]
        self.token = session["accessToken"]

    def open(self, other):
        return need(call("POST", "/v1/conversations", {"kind": "direct", "userId": other.id}, self.token))["id"]

    def group(self, *members):
        """None where there are no groups."""
        body = {"kind": "group", "title": "Group", "memberIds": [member.id for member in members]}
        status, value = call("POST", "/v1/conversations", body, self.token)
        return value["id"] if status == 201 else None

    def send(self, chat, number):
        body = {"clientId": f"seed-{number}", "type": "text", "text": f"Message {number}"}
        need(call("POST", f"/v1/conversations/{chat}/messages", body, self.token))


def guest():
    return Person(need(call("POST", "/v1/auth/anonymous", {})))


def registered(name):
    body = {"email": f"{name}-{os.getpid()}@example.com", "password": PASSWORD, "displayName": name.title()}
    return Person(need(call("POST", "/v1/auth/register", body)))


class World:
    def __init__(self):
        self.caller = registered("alice")
        self.others = [registered("bob"), registered("carol"), guest()]
        self.chats = [self.caller.open(other) for other in self.others]
        for chat, other in zip(self.chats, self.others):
            for number in range(0, 6, 2):
                self.caller.send(chat, number)
                other.send(chat, number + 1)
        group = self.caller.group(*self.others)
        if group:
            self.chats.append(group)
            self.caller.send(group, 0)

    def value(self, name, key):
        """Something that is there for a parameter or field of this name; nothing where any value will do."""
        if name == "conversationId":
            if key in CLOSING:
                chat = self.caller.group(*self.others[:2])
                if chat:
                    return chat
            return choice.choice(self.chats)
        if name == "userId":
            return choice.choice(self.others).id
        if name in ("userIds", "memberIds"):
            return [other.id for other in choice.sample(self.others, 2)]
        if name in ("seq", "replyTo"):
            return choice.randint(1, 6)
        if name == "emoji":
            return choice.choice("👍❤🎉")
        if name == "email":
            return f"someone-{choice.randrange(10**9)}@example.com"
        if name in ("password", "newPassword", "currentPassword"):
            return PASSWORD
        if name == "phone":
            return "+49 30 1234567"
        if name == "type":
            return "text"
        return None


world = World()


def operation_key(case):
    return case.method.upper(), case.operation.path


@schemathesis.auth(refresh_interval=None)
class Tokens:
    def get(self, case, context):
        return guest() if operation_key(case) in SPENDING else world.caller

    def set(self, case, data, context):
        case.headers = {**(case.headers or {}), "Authorization": "Bearer " + data.token}
        if is_meant_to_be_right(case) and "deviceId" in (case.path_parameters or {}):
            case.path_parameters["deviceId"] = data.device


def is_meant_to_be_right(case):
    meta = getattr(case, "meta", None)
    return meta is None or meta.generation.mode.value == "positive"


@schemathesis.hook
def before_call(context, case, kwargs):
    if not is_meant_to_be_right(case) or choice.random() < 0.25:
        return
    key = operation_key(case)
    for name in list(case.path_parameters or {}):
        known = world.value(name, key)
        if known is not None:
            case.path_parameters[name] = known
    fill(case.body, key)


def fill(body, key):
    if isinstance(body, dict):
        for name, old in body.items():
            known = world.value(name, key) if old is not None else None
            if known is not None:
                body[name] = known
            else:
                fill(old, key)
