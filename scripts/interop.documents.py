"""Spreadsheets, texts and PDF files, both ways: openpyxl, python-docx, pypdf and reportlab write what goose reads, and
read what goose writes. With LibreOffice, where `soffice` is found, also through its formats.

Usage: interop.documents.py GOOSE. Prints a line for each check; the exit code is 1 where one failed.
"""

import datetime
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

import docx
import openpyxl
import pypdf
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas

FAILED = []


class Goose:
    """`goose mcp computercontroller`, as any client of MCP uses it."""

    def __init__(self, program, folder):
        environment = {**os.environ, "GOOSE_PATH_ROOT": os.path.join(folder, "root")}
        command = [program, "mcp", "computercontroller"]
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        client = {"name": "interop", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer["result"]

    def call(self, tool, **arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(block.get("text", "") for block in result["content"])
        if result.get("isError"):
            raise RuntimeError(text)
        return text

    def end(self):
        self.process.stdin.close()
        self.process.wait(20)


def check(what):
    """Runs a check at once, and prints how it ended."""

    def run(function):
        try:
            function()
            print(f"ok    {what}", flush=True)
        except Exception as error:  # noqa: BLE001: each failure is reported
            FAILED.append(what)
            print(f"FAIL  {what}: {type(error).__name__}: {error}", flush=True)

    return run


def has(text, *parts):
    for part in parts:
        assert part in text, f"{part!r} is not in {text!r}"


def spreadsheets(goose, folder):
    path = os.path.join(folder, "theirs.xlsx")

    @check("goose reads a workbook of openpyxl")
    def _():
        book = openpyxl.Workbook()
        sheet = book.active
        sheet.title = "Käufe"
        sheet.append(["name", "price", "day", "paid"])
        sheet.append(["Ada & <Bob>", 2.5, datetime.date(2024, 2, 29), True])
        sheet.append(["Grüße", 4, datetime.datetime(2024, 3, 1, 12, 30), False])
        sheet["B4"] = "=SUM(B2:B3)"
        book.create_sheet("Leer").sheet_state = "hidden"
        book.save(path)
        has(goose.call("xlsx_tool", path=path, operation="list_worksheets"), "Käufe (A1:D4, 13 cells)", "Leer (empty, hidden)")
        rows = goose.call("xlsx_tool", path=path, operation="get_range", worksheet="Käufe")
        has(rows, "A2: Ada & <Bob> | B2: 2.5 | C2: 2024-02-29 | D2: TRUE", "C3: 2024-03-01 12:30:00 | D3: FALSE", "(=SUM(B2:B3))")
        has(goose.call("xlsx_tool", path=path, operation="find_text", search_text="grüße"), "Käufe!A3")

    @check("openpyxl reads what goose has changed, with the styles kept")
    def _():
        book = openpyxl.load_workbook(path)
        book.active["A1"].font = openpyxl.styles.Font(bold=True)
        book.save(path)
        goose.call("xlsx_tool", path=path, operation="update_cell", range="A1", value="Name & <more>")
        goose.call("xlsx_tool", path=path, operation="update_cell", range="B2", value=7)
        goose.call("xlsx_tool", path=path, operation="update_cell", range="F9", value="=B2*2")
        goose.call("xlsx_tool", path=path, operation="save", worksheet="Neu", range="B2", rows=[["x", 1], [None, True]])
        book = openpyxl.load_workbook(path)
        sheet = book["Käufe"]
        assert sheet["A1"].value == "Name & <more>" and sheet["A1"].font.bold
        assert (sheet["B2"].value, sheet["F9"].value, sheet["A3"].value) == (7, "=B2*2", "Grüße")
        assert sheet["C2"].value.date() == datetime.date(2024, 2, 29)
        new = book["Neu"]
        assert (new["B2"].value, new["C2"].value, new["B3"].value, new["C3"].value) == ("x", 1, None, True)
        assert book.sheetnames == ["Käufe", "Leer", "Neu"]

    @check("openpyxl reads a workbook of goose")
    def _():
        goose.call("xlsx_tool", path="ours.xlsx", operation="save", rows=[["a", 1.5], ["ß €", "=B1"]])
        sheet = openpyxl.load_workbook(os.path.join(folder, "ours.xlsx")).active
        assert [[cell.value for cell in row] for row in sheet] == [["a", 1.5], ["ß €", "=B1"]]


def texts(goose, folder):
    path = os.path.join(folder, "theirs.docx")
    image = os.path.join(folder, "dot.png")
    Image.new("RGB", (40, 20), "red").save(image)

    @check("goose reads a document of python-docx")
    def _():
        document = docx.Document()
        document.add_heading("Title & more", 1)
        document.add_paragraph("One ").add_run("bold").bold = True
        document.add_paragraph("first", style="List Bullet")
        table = document.add_table(rows=2, cols=2)
        for index, cell in enumerate(cell for row in table.rows for cell in row.cells):
            cell.text = f"cell {index}"
        document.add_picture(image)
        document.save(path)
        text = goose.call("docx_tool", path=path, operation="extract_text")
        has(text, "# Title & more", "One bold", "- first", "| cell 0 | cell 1 |", "| cell 2 | cell 3 |")

    @check("python-docx reads what goose has changed")
    def _():
        goose.call("docx_tool", path=path, operation="replace", old_text="One bold", content="Two <bold>")
        goose.call("docx_tool", path=path, operation="append", content="at the end\nand one more")
        goose.call("docx_tool", path=path, operation="structured", content="Part", level=2, style={"italic": True})
        goose.call("docx_tool", path=path, operation="add_image", image_path=image, content="A red dot")
        document = docx.Document(path)
        paragraphs = [(paragraph.style.name, paragraph.text) for paragraph in document.paragraphs]
        for wanted in [("Heading 1", "Title & more"), ("Normal", "Two <bold>"), ("Normal", "and one more"), ("Heading 2", "Part")]:
            assert wanted in paragraphs, f"{wanted} is not in {paragraphs}"
        assert len(document.inline_shapes) == 2 and document.inline_shapes[1].width == 40 * 9525

    @check("python-docx reads a document of goose")
    def _():
        goose.call("docx_tool", path="ours.docx", operation="structured", content="New", level=1)
        goose.call("docx_tool", path="ours.docx", operation="append", content="Grüße & <Küsse>")
        document = docx.Document(os.path.join(folder, "ours.docx"))
        assert [(it.style.name, it.text) for it in document.paragraphs] == [("Heading 1", "New"), ("Normal", "Grüße & <Küsse>")]


def pdfs(goose, folder):
    path = os.path.join(folder, "theirs.pdf")

    @check("goose reads the text of reportlab as pypdf does")
    def _():
        page = canvas.Canvas(path, pagesize=A4)
        for number in (1, 2):
            page.setFont("Helvetica", 12)
            page.drawString(72, 700, f"Page {number}: Grüße, café – 10 €")
            page.setFont("Times-Roman", 10)
            page.drawString(72, 650, "A second line")
            page.showPage()
        page.save()
        text = goose.call("pdf_tool", path=path, operation="extract_text")
        has(text, "## Page 2 of 2", "Page 1: Grüße, café – 10 €", "A second line")
        for number, page in enumerate(pypdf.PdfReader(path).pages, 1):
            for line in page.extract_text().splitlines():
                has(text, line.strip())

    @check("goose reads a PDF that pypdf has packed")
    def _():
        packed = os.path.join(folder, "packed.pdf")
        writer = pypdf.PdfWriter(clone_from=path)
        writer.compress_identical_objects()
        for page in writer.pages:
            page.compress_content_streams()
        writer.write(packed)
        has(goose.call("pdf_tool", path=packed, operation="extract_text", page=2), "Page 2: Grüße")

    @check("goose refuses a PDF that pypdf has encrypted")
    def _():
        locked = os.path.join(folder, "locked.pdf")
        writer = pypdf.PdfWriter(clone_from=path)
        writer.encrypt("secret", algorithm="RC4-128")
        writer.write(locked)
        try:
            goose.call("pdf_tool", path=locked, operation="extract_text")
        except RuntimeError as error:
            has(str(error), "encrypted")
            return
        raise AssertionError("it was read")

    @check("goose finds the images of reportlab, PNG and JPEG")
    def _():
        for name, kind in (("a.png", "PNG"), ("b.jpg", "JPEG")):
            Image.new("RGB", (30, 10), "blue").save(os.path.join(folder, name), kind)
        page = canvas.Canvas(os.path.join(folder, "images.pdf"))
        page.drawImage(os.path.join(folder, "a.png"), 100, 100)
        page.drawImage(os.path.join(folder, "b.jpg"), 100, 200)
        page.save()
        text = goose.call("pdf_tool", path="images.pdf", operation="extract_images")
        files = [line.split("saved to ")[1] for line in text.splitlines() if "saved to " in line]
        assert len(files) == 2, text
        for file in files:
            with open(file, "rb") as opened:
                image = Image.open(io.BytesIO(opened.read())).convert("RGB")
            red, green, blue = image.getpixel((5, 5))
            assert image.size == (30, 10) and red < 5 and green < 5 and blue > 250, (image.size, red, green, blue)


def office(goose, folder):
    program = shutil.which("soffice")
    if not program:
        print("skip  LibreOffice is not here", flush=True)
        return

    def convert(source, kind):
        command = [program, "--headless", f"-env:UserInstallation=file://{folder}/office", "--convert-to", kind, "--outdir", folder, source]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=180)

    @check("LibreOffice computes the workbook of goose")
    def _():
        goose.call("xlsx_tool", path="sum.xlsx", operation="save", rows=[[1, 2, "=A1+B1"]])
        convert("sum.xlsx", "csv")
        with open(os.path.join(folder, "sum.csv"), encoding="utf-8") as file:
            assert file.read().strip() == "1,2,3"

    @check("goose reads the PDF that LibreOffice makes of its document")
    def _():
        goose.call("docx_tool", path="made.docx", operation="structured", content="Heading of goose", level=1)
        goose.call("docx_tool", path="made.docx", operation="append", content="Grüße aus dem Text, für alle")
        convert("made.docx", "pdf")
        text = goose.call("pdf_tool", path="made.pdf", operation="extract_text")
        has(text, "Heading of goose", "Grüße aus dem Text, für alle")


def main():
    with tempfile.TemporaryDirectory() as folder:
        goose = Goose(os.path.abspath(sys.argv[1]), folder)
        try:
            for part in (spreadsheets, texts, pdfs, office):
                part(goose, folder)
        finally:
            goose.end()
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
