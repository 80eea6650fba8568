# A headless Chromium for tests of pages: a session from open_browser() to close_browser(). Exit status 77 where it does not start.
import json, os, socket, subprocess, sys, time, urllib.error, urllib.request

port = driver = session = None

def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"}, method=method)
    return json.load(urllib.request.urlopen(request, timeout=120))["value"]

def in_session(method, path, body=None):
    return call(method, f"/session/{session}{path}", body)

def run(script, *args):
    return in_session("POST", "/execute/sync", {"script": script, "args": list(args)})

def until(script, what):
    """Waits until the script gives something true."""
    for _ in range(600):
        if value := run("return " + script):
            return value
        time.sleep(0.1)
    sys.exit(f"not so: {what}: {script}; the page says: " + run("return document.getElementById('view').textContent.slice(0, 500)"))

def go(place):
    run("location.hash = arguments[0]", place)

def load(page):
    in_session("POST", "/url", {"url": page})

def devtools(command, **parameters):
    return in_session("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

def open_browser():
    global port, driver, session
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            if call("GET", "/status")["ready"]:
                break
        except OSError:
            time.sleep(0.1)
    options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1300,900", f"--user-data-dir={os.getcwd()}/profile"]}
    try:
        session = call("POST", "/session", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})["sessionId"]
    except urllib.error.HTTPError as e:
        print("the browser does not start here:", e.read()[:300])
        sys.exit(77)
    in_session("POST", "/timeouts", {"pageLoad": 120000, "script": 120000})

def close_browser():
    if session:
        in_session("DELETE", "")
    if driver:
        driver.terminate()
        driver.wait()
