"""What a run of schemathesis over /openapi.json knows of the cluster: people, their chats, and ids that exist.

ROOST_OPENAPI_URL names the node, ROOST_OPENAPI_MAIL the folder that its mails come to. Of generated requests that are meant to be right, most get ids of what is really there, so that
not all of them end as 404. Requests that would spend the token or take away the chats of the user who asks are made by guests, or
upon chats, that nobody needs afterwards.
"""

import json
import os
import random
import re
import time
import urllib.error
import urllib.request
from email import message_from_bytes
from email.policy import default as default_policy
from pathlib import Path

import schemathesis

URL = os.environ["ROOST_OPENAPI_URL"]
MAIL = os.environ["ROOST_OPENAPI_MAIL"]
PASSWORD = "correct horse battery"

# The token, the account or its password does not survive these; and whether those who ask them are guests.
SPENDING = {
    ("POST", "/v1/auth/logout"): True,
    ("POST", "/v1/auth/link"): True,
    ("POST", "/v1/auth/password/change"): False,
    ("DELETE", "/v1/devices/{deviceId}"): True,
    ("DELETE", "/v1/me"): False,
}
# The chat, or the caller's place in it, does not survive these.
CLOSING = {
    ("DELETE", "/v1/conversations/{conversationId}"),
    ("DELETE", "/v1/conversations/{conversationId}/members/{userId}"),
    ("PATCH", "/v1/conversations/{conversationId}/members/{userId}"),
}

# For value(): leave what was generated.
AS_IT_IS = object()

choice = random.Random(7)
# The same cluster can be asked twice.
RUN = time.time_ns()


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
        self.email = session["user"]["email"]
        self.device = session["deviceId"]
        self.token = session["accessToken"]

    def open(self, other):
        return need(call("POST", "/v1/conversations", {"kind": "direct", "userId": other.id}, self.token))["id"]

    def group(self, *members):
        """None where there are no groups."""
        body = {"kind": "group", "title": "Group", "memberIds": [member.id for member in members]}
        status, value = call("POST", "/v1/conversations", body, self.token)
        return value["id"] if status == 201 else None

    def channel(self, title):
        """None where there are no channels."""
        status, value = call("POST", "/v1/conversations", {"kind": "channel", "title": title}, self.token)
        return value["id"] if status == 201 else None

    def send(self, chat, number):
        body = {"clientId": f"seed-{number}", "type": "text", "text": f"Message {number}"}
        need(call("POST", f"/v1/conversations/{chat}/messages", body, self.token))


def guest():
    return Person(need(call("POST", "/v1/auth/anonymous", {})))


def registered(name):
    body = {"email": new_email(name), "password": PASSWORD, "displayName": name.title()}
    return Person(need(call("POST", "/v1/auth/register", body)))


def new_email(name="someone"):
    return f"{name}-{RUN}-{choice.randrange(10**12)}@example.com"


def mailed_token(email):
    """The token of the newest mail to this address, or nothing."""
    for _ in range(20):
        # One that is still being written has a dot before its name. The names begin with the time.
        for file in sorted(Path(MAIL).glob("[!.]*.eml"), reverse=True):
            mail = message_from_bytes(file.read_bytes(), policy=default_policy)
            found = re.search(r"token=([\w-]+)", mail.get_body(("plain", "html")).get_content())
            if email in mail["To"] and found:
                return found[1]
        time.sleep(0.1)
    return AS_IT_IS


class World:
    def __init__(self):
        self.mails = 0
        self.caller = registered("alice")
        self.others = [registered("bob"), registered("carol"), guest()]
        self.chats = [self.caller.open(other) for other in self.others]
        for chat, other in zip(self.chats, self.others):
            for number in range(0, 6, 2):
                self.caller.send(chat, number)
                other.send(chat, number + 1)
        self.direct = self.chats[0]
        self.group = self.caller.group(*self.others[:2]) or self.direct
        self.channel = self.others[0].channel("Channel") or self.direct
        self.chats.append(self.group)
        for number in range(5):
            self.caller.send(self.group, number)

    def value(self, name, key):
        """Something that is there, or allowed, for a parameter or field of this name."""
        if name == "conversationId":
            if key in CLOSING:
                return self.caller.group(*self.others[:2]) or self.direct
            if key[1].endswith("/join"):
                return self.channel
            # What is about an own message, or for admins only, goes where that is so.
            is_own = key[0] in ("PATCH", "DELETE") or key[1].endswith("/members")
            return self.group if is_own and choice.random() < 0.75 else choice.choice(self.chats)
        if name == "userId":
            return choice.choice(self.others).id
        if name in ("userIds", "memberIds", "mentions"):
            return [other.id for other in choice.sample(self.others, 2)]
        if name in ("seq", "replyTo"):
            return choice.randint(2, 6)
        if name == "query":
            return choice.choice(["Message", "message 1", "bo", "Chan"])
        if name == "emoji":
            return choice.choice("👍❤🎉")
        if name == "email":
            return new_email() if key[1].startswith("/v1/auth/") else self.others[choice.randrange(2)].email
        if name in ("password", "newPassword", "currentPassword"):
            return PASSWORD
        if name == "phone":
            return "+49 30 1234567"
        if name == "type":
            return "text"
        if name == "text" and choice.random() < 0.75:
            return f"Text {choice.randrange(100)}"
        if name in ("mediaId", "photoMediaId"):
            return None
        if name == "token" and key[1].startswith("/v1/auth/"):
            return self.mailed_token(key)
        return AS_IT_IS

    def mailed_token(self, key):
        """Not each time: mails take their time."""
        self.mails += 1
        if self.mails > 4:
            return AS_IT_IS
        person = registered("mail")
        if key[1].endswith("/reset"):
            need(call("POST", "/v1/auth/password/forgot", {"email": person.email}))
        return mailed_token(person.email)


world = World()


def operation_key(case):
    return case.method.upper(), case.operation.path


@schemathesis.auth(refresh_interval=None)
class Tokens:
    def get(self, case, context):
        is_guest = SPENDING.get(operation_key(case))
        if is_guest is None:
            return world.caller
        return guest() if is_guest else registered("spent")

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
    fill(case.path_parameters, key)
    fill(case.query, key)
    if "userIds" in (case.query or {}):
        case.query["userIds"] = ",".join(world.value("userIds", key))
    fill(case.body, key)


def fill(fields, key):
    if not isinstance(fields, dict):
        return
    for name, old in fields.items():
        known = AS_IT_IS if old is None else world.value(name, key)
        if known is AS_IT_IS:
            fill(old, key)
        else:
            fields[name] = known
