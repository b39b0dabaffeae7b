"""The operators' page in a real browser: opens it, drains a node, sees the moves, brings it back, plans a rebalance, reads the audit.

usage: page_test.py CLUSTER.json
"""

import json
import re
import sys
import time

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait


def main(path):
    with open(path, encoding="utf-8") as file:
        cluster = json.load(file)
    options = webdriver.ChromeOptions()
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1200,1400"):
        options.add_argument(flag)
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService("/usr/bin/chromedriver")
    browser = webdriver.Chrome(options=options, service=service)
    try:
        check(browser, cluster)
    finally:
        browser.quit()


def check(browser, cluster):
    # From a node that is not drained.
    browser.get(cluster["nodes"][0]["adminUrl"] + "/")
    wait = WebDriverWait(browser, 40, poll_frequency=0.1)

    # The tables are drawn anew every second: what is in them is read in one go.
    def text(selector):
        return browser.execute_script("return document.querySelector(arguments[0]).innerText", selector)

    def row(name):
        script = "return [...document.querySelectorAll('#nodes tr')].map(row => row.innerText).find(row => row.startsWith(arguments[0]))"
        return " ".join((browser.execute_script(script, name) or "").split())

    # The figure behind the state.
    def places(name):
        found = re.search(r" (?:up|suspect|cordoned|draining|drained|dead) (\d+)", row(name))
        return int(found[1]) if found else -1

    def press(name, label):
        script = """
            const row = [...document.querySelectorAll('#nodes tr')].find(row => row.textContent.startsWith(arguments[0]));
            const button = row && [...row.querySelectorAll('button')].find(button => button.textContent === arguments[1]);
            if (button) button.click();
            return !!button;
        """
        wait.until(lambda _: browser.execute_script(script, name, label), f"no button {label} for {name}")

    def give(token):
        field = browser.find_element(By.ID, "token")
        field.clear()
        field.send_keys(token)
        browser.find_element(By.CSS_SELECTOR, "#login button").click()

    # A wrong token opens nothing, and says so.
    give("wrong")
    wait.until(lambda _: text("#fault") != "", "a wrong token is not refused")
    assert browser.find_element(By.ID, "login").is_displayed()
    give(cluster["adminToken"])
    wait.until(lambda _: all(" up " in row(f"node{n}") for n in (1, 2, 3)), "three nodes are not up")
    assert text("#fault") == "", text("#fault")
    heat = browser.find_element(By.ID, "heat")
    wait.until(lambda _: heat.get_attribute("data-shards") == "1024", "the map has not 1,024 shards")

    # A node that was the last to come has its share a second later.
    def colours():
        return browser.execute_script("""
            const pen = document.getElementById('heat').getContext('2d'), found = new Set();
            for (let n = 0; n < 1024; n++) found.add([...pen.getImageData(n % 32 * 8 + 4, Math.floor(n / 32) * 8 + 4, 1, 1).data].join());
            return found.size;
        """)

    wait.until(lambda _: colours() >= 3, "the map does not show three owners")
    wait.until(lambda _: all(places(f"node{n}") > 300 for n in (1, 2, 3)), "the nodes have no even shares")

    # A drain, the moves, the return.
    press("node3", "Drain")
    wait.until(lambda _: "drained" in row("node3"), "node3 is not drained")
    assert places("node3") == 0, row("node3")
    wait.until(lambda _: "drain node3 done" in " ".join(text("#operations").split()), "the drain is not shown as done")
    press("node3", "Use again")
    wait.until(lambda _: " up " in row("node3") and places("node3") > 300, "node3 is not used again")

    # A plan.
    def planned(_):
        browser.find_element(By.ID, "plan").click()
        time.sleep(0.3)
        return "moves, of view" in text("#planned")

    wait.until(planned, "no plan is shown")
    assert all(f"node{n}" in text("#plans") for n in (1, 2, 3))
    wait.until(lambda _: "node.drain" in text("#audit") and "page" in text("#audit"), "the audit does not tell of the drain")

    faults = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE" and "401" not in entry["message"]]
    faults = [fault for fault in faults if "favicon" not in fault and "503" not in fault and "409" not in fault]
    assert not faults, faults


if __name__ == "__main__":
    main(sys.argv[1])
