"""A walk through a site in Chromium: what it complains of, what cannot be read or reached, what the search finds."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from docs.check.pages import files

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")
# One page of each kind: what is looked at closely, in both themes and on a phone.
KINDS = (
    "index", "tutorial/02_derivatives", "howto/per_sample_gradients", "explanation/compared", "explanation/levels",
    "explanation/complex_numbers", "reference/fxgrad/index", "reference/nn", "errors/ShapeError",
    "errors/compat/TensorError", "tables/benchmarks", "tables/jax", "notebooks/01_quickstart", "contributing/guide",
)  # fmt: skip
# What is looked for, and where one of the first results has to lead.
SEARCHES = {
    "leaf variable requires grad in-place": "errors/compat/TensorError",
    "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)": "errors/compat/TensorError",
    "matmul: the inner sizes 3 and 4 differ": "errors/ShapeError",
    "escaped tracer": "errors/EscapedTracerError",
    "per-sample gradients": "tutorial/04_per_sample_gradients",
    "vmap": "reference/fxgrad/",
    "sparse jacobian": "howto/sparse_jacobians",
}
FIRST = 3
SUMMARY = "return document.querySelector('#search-results .search-summary')?.textContent ?? ''"
ENDED = re.compile("found|did not match")
TABS = 80  # which lead from the top of a page well into its text
PHONE, DESK = (390, 844), (1280, 900)
SCRIPTS = {file.stem: file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("*.js")}


def programs() -> tuple[str, str] | None:
    """The paths of Chromium and of its driver, if both are here."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None), shutil.which("chromedriver")
    return found if all(found) else None  # type: ignore[return-value]


def list_mistakes(site: Path, chromium: str, chromedriver: str) -> Iterator[str]:
    """What is wrong, a line each."""
    pages = [file.relative_to(site).with_suffix("").as_posix() for file in files(site)]
    with serve(site) as root, open_browser(chromium, chromedriver) as driver:
        for page in pages:
            driver.get(f"{root}{page}.html")
            for said in driver.get_log("browser"):
                yield f"{page}: {said['message']}"
        yield from (f"there is no page {page}" for page in KINDS if page not in pages)
        for page in KINDS:
            yield from (f"{page}: {what}" for what in look_at(driver, f"{root}{page}.html"))
        yield from look_for(driver, root)
        yield from switch_versions(driver, root)
        yield from (f"a script: {said['message']}" for said in driver.get_log("browser"))


class Handler(SimpleHTTPRequestHandler):
    """Serves a site as the newest of two versions; the other one has the same pages."""

    def __init__(self, *args: Any, site: Path, **options: Any):
        self.site = site
        super().__init__(*args, directory=str(site.parent), **options)

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.replace("/0.0.1/", f"/{self.site.name}/"))

    def do_GET(self) -> None:
        if self.path != "/versions.json":
            return super().do_GET()
        text = json.dumps([self.site.name, "0.0.1"]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def serve(site: Path) -> Iterator[str]:
    """The address under which a site is served."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, site=site))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/{site.name}/"
    finally:
        server.shutdown()


@contextmanager
def open_browser(chromium: str, chromedriver: str) -> Iterator[Any]:
    """A browser without a window, which keeps what pages write to its console."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = chromium
    sandbox = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []  # root may not have one
    for option in ("--headless=new", "--disable-dev-shm-usage", "--hide-scrollbars", *sandbox):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "WARNING"})
    driver = Chrome(options=options, service=Service(chromedriver))
    try:
        yield driver
    finally:
        driver.quit()


def look_at(driver: Any, address: str) -> Iterator[str]:
    """What cannot be read or reached on a page."""
    driver.set_window_size(*DESK)
    driver.get(address)
    for theme in ("light", "dark"):
        driver.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
        for text, ratio in driver.execute_async_script(SCRIPTS["contrast"]):
            yield f"{theme}: the contrast of {text!r} is {ratio:.2f}"
    yield from reach(driver)
    for size in (PHONE, DESK):
        resize(driver, *size)
        driver.get(address)
        for text in driver.execute_script(SCRIPTS["outside"]):
            yield f"on a screen of {size[0]} pixels {text!r} is outside"


def resize(driver: Any, width: int, height: int) -> None:
    """Give pages a width, which windows cannot have if they are narrow."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def reach(driver: Any) -> Iterator[str]:
    """What the tabulator key does not reach, or reaches without a sign of it."""
    from selenium.webdriver import ActionChains, Keys

    driver.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    reached = []
    for _ in range(TABS):
        ActionChains(driver, duration=0).send_keys(Keys.TAB).perform()
        reached.append(driver.execute_script(SCRIPTS["focus"]))
    for what, shown in dict(filter(None, reached)).items():
        if not shown:
            yield f"nothing shows that {what} has the focus"
    for missed in driver.execute_script(SCRIPTS["missed"]):
        yield f"the keyboard does not reach {missed}"


def look_for(driver: Any, root: str) -> Iterator[str]:
    """What the search does not find."""
    from selenium.webdriver.support.ui import WebDriverWait

    results = (
        "return [...document.querySelectorAll('#search-results li > a')].map(a => a.getAttribute('href'))"
    )
    for words, page in SEARCHES.items():
        driver.get(f"{root}search.html")
        driver.execute_script("location.search = '?q=' + encodeURIComponent(arguments[0])", words)
        WebDriverWait(driver, 60).until(lambda d: ENDED.search(d.execute_script(SUMMARY)))
        found = driver.execute_script(results)[:FIRST]
        if not any(page in result for result in found):
            yield f"the search for {words!r} finds {found}"


def shown_switch(driver: Any) -> Any:
    """The switch of versions that can be operated, or None."""
    return next(
        (s for s in driver.find_elements("css selector", "select.versions") if s.is_displayed()), None
    )


def switch_versions(driver: Any, root: str) -> Iterator[str]:
    """What the switch of versions does not do."""
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.support.ui import Select, WebDriverWait

    driver.get(f"{root}index.html")
    try:
        switch = WebDriverWait(driver, 60).until(shown_switch)
    except TimeoutException:
        yield "there is no switch of versions"
        return
    Select(switch).select_by_visible_text("0.0.1")
    WebDriverWait(driver, 60).until(lambda d: "/0.0.1/" in d.current_url)
