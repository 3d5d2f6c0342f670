"""A real Chromium that opens the report. Nothing is skipped: what is missing fails with what to install."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

# The samples are the unit tests'.
sys.path.insert(0, str(Path(__file__).parents[1] / "report"))


def _command(name, package):
    """Find a command; fail with the package that has it."""
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"`{name}` is not installed; install it with `apt-get install {package}`", pytrace=False)
    return found


@pytest.fixture(scope="session")
def chromium():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.fail("playwright is not installed; install it with `pip install -e .[browser]`", pytrace=False)
    path = _command("chromium", "chromium")
    # No sandbox: in a container there is no user to change to. The page is our own.
    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def paper(tmp_path):
    """Print a page to PDF and read what stands on it."""

    def printed(page):
        file = tmp_path / "report.pdf"
        page.pdf(path=file, prefer_css_page_size=True)
        pdftotext = _command("pdftotext", "poppler-utils")
        return subprocess.run(
            [pdftotext, "-layout", file, "-"], capture_output=True, check=True
        ).stdout.decode()

    return printed


@dataclass
class Opened:
    """A page in the browser, and what it did that a report must not."""

    page: object
    file: Path
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def scrolls_sideways(self):
        return self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth")


@pytest.fixture
def open_file(chromium):
    """Open a page in a window of a size, in a colour scheme."""
    pages = []

    def opened(file, *, width=1280, height=800, scheme="light", script=True):
        page = chromium.new_page(
            viewport={"width": width, "height": height}, color_scheme=scheme, java_script_enabled=script
        )
        pages.append(page)
        seen = Opened(page, file)
        page.on("request", lambda request: seen.requests.append(request.url))
        page.on("console", lambda message: seen.messages.append(message.text))
        page.on("pageerror", lambda error: seen.messages.append(str(error)))
        page.on("dialog", lambda dialog: (seen.messages.append(dialog.message), dialog.dismiss()))
        page.goto(file.as_uri())
        return seen

    yield opened
    for page in pages:
        page.close()


@pytest.fixture
def open_report(open_file, tmp_path):
    """Render a record and open it, as `open_file` does."""

    def opened(record, **window):
        from pytest_procure.report import html

        file = tmp_path / "report.html"
        file.write_text(html.render(record), encoding="utf-8")
        return open_file(file, **window)

    return opened


@pytest.fixture(scope="session")
def demo_pack(tmp_path_factory):
    """The pack of the example suite's first folder, run as its reader would run it."""
    folder = tmp_path_factory.mktemp("demo") / "pack"
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "example_suite/form_digits"]
    flags = ["--procure-report", "--procure-award", "any", "--procure-out", str(folder)]
    # Locks of its own: it is looked at, and need not wait for what else measures on this machine.
    env = {**os.environ, "TMPDIR": str(folder.parent)}
    ran = subprocess.run([*command, *flags], cwd=root, env=env, capture_output=True, text=True, check=False)
    if not (folder / "report.html").is_file():
        pytest.fail(f"the demo wrote no report:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}", pytrace=False)
    return folder


@pytest.fixture
def lowest_words():
    """Give, page by page of a PDF, how far down its text reaches: 1 is the foot. Feet are left out."""

    def read(file):
        told = subprocess.run(
            [_command("pdftotext", "poppler-utils"), "-bbox", file, "-"], capture_output=True, check=True
        ).stdout.decode()
        return [
            max(float(end) for end in re.findall(r'yMax="([\d.]+)"', page) if float(end) < 780) / 780
            for page in told.split("<page ")[1:]
        ]

    return read
