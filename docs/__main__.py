"""`python -m docs`: write anew what pages repeat of docstrings. The site itself is made by `nox -s docs`."""

from docs._ext.repeated import renewed


def main() -> None:
    for page, text in renewed().items():
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
            print(page)


if __name__ == "__main__":
    main()
