"""Compares the recipes of goose with two peers: Jinja2, the original of the templates, and, where it is installed, goose 1.52.

Usage: interop.recipes.py GOOSE FIXTURES [GOOSE_1_52]

GOOSE is the program under test, FIXTURES the folder with recipes and `goose_1_52.json`. Prints a line for each check; the exit
code is 1 where one failed.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

import jinja2
import yaml

# Templates and the values of `a`, `b` and `c`. What minijinja writes in another way on purpose (`true` for `True`) is not here.
VALUES = {"a": "one, two,three", "b": "line 1\nline \"2\": x\n\n  line 3", "c": "5"}
TEMPLATES = [
    "plain {{ a }}",
    "{{ a | upper }} {{ a | title }} {{ a | capitalize }} {{ a | length }}",
    "{% if c == '5' %}five{% elif c == '6' %}six{% else %}other{% endif %}",
    "{% for word in a.split(',') %}{{ loop.index }}:{{ word | trim }}{% if not loop.last %};{% endif %}{% endfor %}",
    "{% set x = c | int + 1 %}{{ x }} {{ c | int - 1 }}",
    "{{ b | indent(4) }}",
    "{{ b | indent(2, true) }}",
    "{{ b.splitlines() | join('|') }}",
    "{{ a | replace('one', '1') | default('none') }}",
    "{{ a.startswith('one') and 'yes' or 'no' }} {{ 'yes' if 'two' in a else 'no' }}",
    "{# a comment #}{%- if true -%}  trimmed  {%- endif -%}",
    "{% raw %}{{ a }}{% endraw %}",
    "{% for i in range(3) %}{{ i }}{% endfor %} {{ [3, 1, 2] | sort | first }}",
    "{% with x = a %}{{ x }}{% endwith %} {{ a ~ '-' ~ c }}",
    "{% filter upper %}words{% endfilter %} {% set x %}[{{ a }}]{% endset %}{{ x }}",
]

failed = False


def check(name, is_ok, why=""):
    global failed
    failed = failed or not is_ok
    print(f"ok    {name}" if is_ok else f"FAIL  {name}: {why}")


def run(program, *arguments):
    ended = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    return ended.returncode, ended.stdout, ended.stderr


def rendered(program, file, values):
    params = [word for key, value in values.items() for word in ("--params", f"{key}={value}")]
    code, out, error = run(program, "run", "--recipe", file, *params, "--render-recipe")
    return (yaml.safe_load(out), error) if code == 0 else (None, error)


def templates(program, folder):
    jinja = jinja2.Environment(undefined=jinja2.StrictUndefined)
    for template in TEMPLATES:
        used = {key: value for key, value in VALUES.items() if re.search(rf"\b{key}\b", re.sub(r"'[^']*'|\{%\s*raw.*endraw\s*%\}|\{#.*?#\}", "", template))}
        recipe = {"title": "T", "description": "D", "prompt": template}
        recipe["parameters"] = [
            {"key": key, "input_type": "string", "requirement": "required", "description": ""} for key in used
        ]
        file = os.path.join(folder, "template.json")
        with open(file, "w") as out:
            json.dump(recipe, out)
        got, error = rendered(program, file, used)
        expected = jinja.from_string(template).render(**used)
        check(f"jinja2: {template}", got is not None and got["prompt"] == expected, f"{got and got['prompt']!r} {expected!r} {error}")


def fixtures(program, folder, other):
    # Accepted here and not by goose 1.52: docs/compatibility.md says why.
    accepted = {"05-conditions.yaml", "17-special-characters.yaml", "21-types.yaml"}
    with open(os.path.join(folder, "goose_1_52.json")) as file:
        said = json.load(file)
    for name, said in said.items():
        path = os.path.join(folder, name)
        values = said.get("params", {})
        values = {key: os.path.join(folder, value) if key == "source" else value for key, value in values.items()}
        is_valid = run(program, "recipe", "validate", path)[0] == 0
        check(f"{name}: validate", is_valid == (said["valid"] or name in accepted), f"{is_valid}")
        if other:
            check(f"{name}: validate as recorded", (run(other, "recipe", "validate", path)[0] == 0) == said["valid"])
        if "rendered" not in said:
            continue
        got, error = rendered(program, path, values)
        expected = rendered(other, path, values)[0] if other else yaml.safe_load(said["rendered"].replace("DIR", folder))
        check(f"{name}: render", got == expected, f"{got} {expected} {error}")
        link = run(program, "recipe", "deeplink", path)[1].strip()
        check(f"{name}: link", link == said["link"], link)
        if other:
            check(f"{name}: link as recorded", said["link"] in run(other, "recipe", "deeplink", path)[1].split())


with tempfile.TemporaryDirectory() as home:
    environment = {**os.environ, "HOME": home, "GOOSE_PATH_ROOT": os.path.join(home, "goose"), "GOOSE_DISABLE_KEYRING": "1"}
    templates(sys.argv[1], home)
    fixtures(sys.argv[1], os.path.realpath(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None)
sys.exit(failed)
