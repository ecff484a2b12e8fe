import asyncio
import json
import threading

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

import runreel.record as rr
from record_kit import only, run_of
from runreel.record import calls
from runreel.record.convert import rebuild

# --- recording --------------------------------------------------------------------------------------------------------


def test_a_call_is_a_tool_span_of_the_genai_conventions(spans):
    @rr.tool(side_effect=True, version="3", sensitive=["/order_id"])
    def refund(order_id: str, cents: int, note: str = "") -> dict:
        return {"order_id": order_id, "refunded": cents}

    assert refund("A-1", cents=5) == {"order_id": "A-1", "refunded": 5}

    span = only(spans)
    assert span.name == "execute_tool refund"
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "refund",
        "gen_ai.tool.type": "function",
        "replay.tool.side_effect": True,
        "replay.tool.version": "3",
        "replay.sensitive": ("/order_id",),
        "gen_ai.tool.call.arguments": '{"order_id":"A-1","cents":5}',
        "gen_ai.tool.call.result": '{"order_id":"A-1","refunded":5}',
        "replay.result.type": "json",
    }
    assert span.instrumentation_scope.name == "runreel.record"


def test_the_bare_decorator_keeps_the_functions_name_and_docstring():
    @rr.tool
    def lookup(order_id: str) -> str:
        """Find an order."""
        return order_id

    assert (lookup.__name__, lookup.__doc__, lookup("A-1")) == ("lookup", "Find an order.", "A-1")


def test_text_is_recorded_as_it_is(spans):
    rr.tool(lambda: "sunny", name="sky")()

    assert only(spans).attributes["gen_ai.tool.call.result"] == "sunny"
    assert only(spans).attributes["replay.result.type"] == "text"


def test_the_tools_own_spans_hang_below_the_call(spans):
    @rr.tool
    def outer():
        with trace.get_tracer("own").start_as_current_span("inner"):
            return 1

    outer()

    inner, call = spans.get_finished_spans()
    assert inner.parent.span_id == call.context.span_id


def test_an_exception_is_recorded_and_raised_as_it_is(spans):
    error = KeyError("Atlantis")

    @rr.tool
    def get_weather(city):
        raise error

    with pytest.raises(KeyError) as caught:
        get_weather("Atlantis")

    assert caught.value is error
    span = only(spans)
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "KeyError"
    (event,) = span.events
    assert event.attributes["exception.message"] == "'Atlantis'"
    assert "get_weather" in event.attributes["exception.stacktrace"]
    assert "gen_ai.tool.call.result" not in span.attributes


def test_the_models_call_id_is_told_to_the_next_call(spans):
    lookup = rr.tool(lambda order_id: order_id, name="lookup")

    with rr.calling("call_7"):
        lookup("A-1")
    lookup("A-2")

    first, second = spans.get_finished_spans()
    assert first.attributes["gen_ai.tool.call.id"] == "call_7"
    assert "gen_ai.tool.call.id" not in second.attributes


def test_the_object_a_method_is_called_on_is_no_argument(spans):
    class Shop:
        @rr.tool
        def price(self, item, *rest, currency="EUR", **more):
            return 1

    Shop().price("tea", "milk", sugar=2)

    arguments = only(spans).attributes["gen_ai.tool.call.arguments"]
    assert json.loads(arguments) == {"item": "tea", "rest": ["milk"], "sugar": 2}


def test_arguments_without_a_recorded_form_are_named_and_counted(spans):
    before = rr.losses().get("arguments", 0)
    save = rr.tool(lambda session, row: "saved", name="save")

    assert save(threading.Lock(), {"a": 1}) == "saved"

    attributes = only(spans).attributes
    assert json.loads(attributes["gen_ai.tool.call.arguments"]) == {
        "session": "<UNRECORDED:_thread.lock>",
        "row": {"a": 1},
    }
    assert attributes["replay.unrecorded"] == ("arguments: _thread.lock",)
    assert rr.losses()["arguments"] == before + 1


def test_a_result_without_a_recorded_form_does_not_stop_the_agent(spans):
    before = rr.losses().get("result", 0)
    lock = threading.Lock()

    assert rr.tool(lambda: lock, name="lock")() is lock

    assert "gen_ai.tool.call.result" not in only(spans).attributes
    assert rr.losses()["result"] == before + 1


def test_a_call_with_the_wrong_arguments_fails_as_it_always_does(spans):
    @rr.tool
    def add(a, b):
        return a + b

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'b'"):
        add(1)

    assert json.loads(only(spans).attributes["gen_ai.tool.call.arguments"]) == {"0": 1}


def test_secrets_are_stripped_before_a_span_is_written(spans):
    key = "sk-test-51HxFAKE0000000000000000"

    @rr.tool
    def read_config(path, password):
        raise RuntimeError(f"bad api_key {key}")

    with pytest.raises(RuntimeError, match=key):
        read_config("/etc/app", password="hunter2-not-real")

    span = only(spans)
    written = json.dumps([dict(span.attributes), dict(span.events[0].attributes), span.status.description])
    assert "<SECRET:password>" in written
    assert key not in written
    assert "hunter2" not in written


# --- what kind of function --------------------------------------------------------------------------------------------


def test_async_tools_are_awaited_inside_their_span(spans):
    @rr.tool
    async def fetch(url):
        await asyncio.sleep(0)
        return trace.get_current_span().get_span_context().span_id

    inside = asyncio.run(fetch("x"))

    assert only(spans).context.span_id == inside


def test_generators_are_recorded_by_what_they_yielded(spans):
    @rr.tool
    def count(n):
        yield from range(n)

    @rr.tool
    async def count_async(n):
        for i in range(n):
            yield i

    async def collect():
        return [i async for i in count_async(2)]

    assert list(count(3)) == [0, 1, 2]
    assert asyncio.run(collect()) == [0, 1]

    results = [span.attributes["gen_ai.tool.call.result"] for span in spans.get_finished_spans()]
    assert results == ["[0,1,2]", "[0,1]"]


def test_a_generator_that_is_left_early_has_not_failed(spans):
    @rr.tool
    def count():
        yield 1
        yield 2

    items = count()
    assert next(items) == 1
    items.close()

    span = only(spans)
    assert span.status.status_code is StatusCode.UNSET
    assert span.attributes["gen_ai.tool.call.result"] == "[1]"


# --- retrieval --------------------------------------------------------------------------------------------------------

DOCUMENTS = [{"id": "kb-1", "score": 0.9, "content": "Broken goods are refunded."}]


def test_a_retrieval_says_index_query_and_documents(spans):
    @rr.retriever("kb", index_version="2026-10")
    def search(query, k=3, lang="en"):
        return DOCUMENTS

    assert search("refund", k=1, lang="pt") is DOCUMENTS

    assert dict(only(spans).attributes) == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "kb",
        "replay.retrieval.index.name": "kb",
        "replay.retrieval.index.version": "2026-10",
        "gen_ai.retrieval.query.text": "refund",
        "gen_ai.retrieval.top_k": 1,
        "replay.retrieval.filters": '{"lang":"pt"}',
        "gen_ai.retrieval.documents": '[{"id":"kb-1","score":0.9,"content":"Broken goods are refunded."}]',
    }


def test_the_declared_number_of_documents_stands_where_no_argument_says_it(spans):
    rr.retriever("kb", top_k=7)(lambda question: [])("why?")

    attributes = only(spans).attributes
    assert (attributes["gen_ai.retrieval.top_k"], attributes["gen_ai.retrieval.query.text"]) == (7, "why?")


RESULTS = [
    {"order": 1, "total": 1.0, "tags": ("a", "b")},
    "plain text",
    '{"text": "that is JSON"}',
    b"\x00\xff",
    None,
    3,
    3.0,
    True,
    ("a", ("b",)),
    float("inf"),
]


@pytest.mark.parametrize("value", RESULTS, ids=repr)
def test_what_a_tool_returned_comes_back_exactly(spans, value):
    rr.tool(lambda: value, name="give")()

    run = run_of(spans)
    (step,) = [step for step in run.steps if step.kind == "tool"]
    got = rebuild(run.value(step.output), step.fields.get("replay"))
    assert (got, type(got)) == (value, type(value))


@pytest.mark.parametrize(
    "value",
    [
        tuple(DOCUMENTS),
        ("just", "texts"),
        (({"page_content": "x", "metadata": {"a": 1}}, 0.5),),
        ({"id_": "n", "text": "odd names"},),
        {"documents": ("a",), "total": 1},
        (),
        None,
    ],
    ids=repr,
)
def test_what_a_retriever_returned_comes_back_exactly(spans, value):
    rr.retriever("kb")(lambda query: value)("q")

    run = run_of(spans)
    (step,) = [step for step in run.steps if step.kind == "retrieval"]
    assert rebuild(run.value(step.output), step.fields.get("replay")) == value
    assert (run.value(step.input), step.fields["index_name"]) == ("q", "kb")


def test_what_has_a_boundary_is_known_by_kind_and_name_with_its_defaults():
    @rr.tool(name="the_tool")
    def whatever(a, b=2, c=("x",)):
        pass

    known = calls.declared["tool", "the_tool"]
    assert known.defaults == {"b": 2, "c": ("x",)}


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (["/iban", "/customer"], ("/iban", "/customer")),
        ({"/iban": "hash", "/a": "regulated", "/b": "token"}, ("hash:/iban", "regulated:/a", "/b")),
        ("/iban", ("/iban",)),
    ],
)
def test_what_is_sensitive_is_declared_with_its_class_and_known_to_every_span(spans, declared, said):
    @rr.tool(name=f"refund-{said[0]}", sensitive=declared)
    def refund(iban):
        return {"iban": iban}

    refund("x")

    assert only(spans).attributes["replay.sensitive"] == said
    assert [f"refund-{said[0]} {one}" for one in said] == [
        line for line in calls.sensitive_tools() if line.startswith(f"refund-{said[0]} ")
    ]
