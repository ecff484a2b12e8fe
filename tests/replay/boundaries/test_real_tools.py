"""Behind the walls, the real tool never runs: whatever it is, and whatever else has its name."""

import pytest

from recorded_runs import ASK, WEATHER
from runreel.replay.engine import replay

REAL = {
    "closure": "def main():\n    def get_weather(city): live()\n    run(get_weather)\nmain()\n",
    "method": "class Box:\n    def get_weather(self, city): live()\nrun(Box().get_weather)\n",
    "static method": "class Box:\n    @staticmethod\n    def get_weather(city): live()\nrun(Box.get_weather)\n",
    "key of another function": "def find(city): live()\nTOOLS = {'get_weather': find}\nrun(TOOLS['get_weather'])\n",
    "bound method": (
        "class Box:\n    def find(self, city): live()\nTOOLS = {'get_weather': Box().find}\nrun(TOOLS['get_weather'])\n"
    ),
    "partial": (
        "import functools\ndef find(unit, city): live()\n"
        "TOOLS = {'get_weather': functools.partial(find, 'c')}\nrun(TOOLS['get_weather'])\n"
    ),
    "partial with a keyword": (
        "import functools\ndef find(city, unit): live()\n"
        "weather = functools.partial(find, unit='c')\nTOOLS = {}\nTOOLS['get_weather'] = weather\nrun(weather)\n"
    ),
    "lambda": "TOOLS = dict(get_weather=lambda city: live())\nrun(TOOLS['get_weather'])\n",
    "lambda attribute": (
        "class Box:\n    def __init__(self):\n        self.get_weather = lambda city: live()\nrun(Box().get_weather)\n"
    ),
    "callable object": (
        "class Box:\n    def __call__(self, city): live()\nbox = Box()\nTOOLS = [('get_weather', box)]\nrun(box)\n"
    ),
    "object with a method": (
        "class Box:\n    def run(self, city): live()\nTOOLS = {'get_weather': Box()}\nrun(TOOLS['get_weather'].run)\n"
    ),
    "class": (
        "class Box:\n    def execute(self, city): live()\nTOOLS = {'get_weather': Box}\n"
        "run(TOOLS['get_weather']().execute)\n"
    ),
    "run by path": (
        "import runpy, pathlib\npathlib.Path('more.py').write_text('def get_weather(city): open(\"ran\", \"w\")')\n"
        "run(runpy.run_path('more.py')['get_weather'])\n"
    ),
    "factory": (
        "def make(n):\n    def inner(city): live()\n    return inner\nTOOLS = {'get_weather': make(1)}\n"
        "run(TOOLS['get_weather'])\n"
    ),
    "decorator": (
        "TOOLS = {}\ndef register(name):\n    def put(f):\n        TOOLS[name] = f\n        return f\n    return put\n"
        "@register('get_weather')\ndef find(city): live()\nrun(TOOLS['get_weather'])\n"
    ),
    "named class": "class Box:\n    name = 'get_weather'\n    def run(self, city): live()\nrun(Box().run)\n",
}
DECOY = "def get_weather(city, **more): raise AssertionError('decoy')\n"


@pytest.mark.parametrize("real", REAL)
def test_the_real_tool_never_runs_whatever_it_is_and_whatever_else_has_its_name(tmp_path, monkeypatch, real):
    monkeypatch.chdir(tmp_path)
    ran = f"def live(): open({str(tmp_path / 'ran')!r}, 'w').close()\n"

    (tmp_path / "agent.py").write_text(ASK + ran + DECOY + REAL[real], encoding="utf-8")

    replayed = replay(WEATHER, "agent.py")

    assert not (tmp_path / "ran").exists()
    assert (replayed.verdict, replayed.answered.get(("tool", "get_weather"))) == ("same", 1)
