"""What the packed client sends again, and what it does not. Prints nothing when all is right."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

import httpx

from fiscal_data import AsyncFiscalData, FiscalData, FiscalDataError, async_pages, async_rows, pages, rows

waits: list[float] = []
setattr(time, "sleep", waits.append)

Reply = Callable[[], httpx.Response]


def answer(status: int, body: object = None, headers: dict[str, str] | None = None) -> Reply:
    return lambda: httpx.Response(status, json={} if body is None else body, headers=headers or {})


def lost() -> httpx.Response:
    raise httpx.ReadTimeout("The answer was lost.")


def client(*replies: Reply, longest_wait: float = 60, credential: tuple[str | None, str | None] = ("key", "secret")) -> tuple[FiscalData, list[httpx.Request]]:
    sent: list[httpx.Request] = []
    left: Iterator[Reply] = iter(replies)

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return next(left)()

    waits.clear()
    return FiscalData("https://api.example.com", *credential, longest_wait=longest_wait, transport=httpx.MockTransport(handle)), sent


def refused(call: Callable[[], object]) -> FiscalDataError:
    try:
        call()
    except FiscalDataError as error:
        return error
    raise AssertionError("It was not refused.")


def keys(sent: list[httpx.Request]) -> list[str | None]:
    return [request.headers.get("idempotency-key") for request in sent]


# What is refused for now is sent again after as long as the service says, with its body and the same key.
api, sent = client(answer(429, headers={"Retry-After": "7"}), answer(503, headers={"Retry-After": "2"}), answer(201))
api.create_custom_blacklist(body={"slug": "own", "label": "Own"})
assert waits == [7.0, 2.0] and len(set(keys(sent))) == 1 and keys(sent)[0], keys(sent)
assert len({request.content for request in sent}) == 1 and b"own" in sent[0].content

# What failed or was lost is sent four times at most.
api, sent = client(lost, answer(500), answer(502), answer(504, {"code": "internal"}))
error = refused(api.get_organization)
assert (error.status, error.code, len(sent), keys(sent)) == (504, "internal", 4, [None] * 4)
api, sent = client(lost, answer(201))
api.create_custom_blacklist(body={"slug": "own", "label": "Own"}, idempotency_key="k")
assert keys(sent) == ["k", "k"]

# What is still being carried out is asked for again; a conflict of another kind is not.
api, sent = client(lost, answer(409, {"code": "idempotency.in_flight"}), answer(201))
api.create_custom_blacklist(body={"slug": "own", "label": "Own"})
assert len(sent) == 3
api, sent = client(answer(409, {"code": "blacklist.exists"}))
error = refused(lambda: api.create_custom_blacklist(body={"slug": "own", "label": "Own"}))
assert error.code == "blacklist.exists" and str(error).startswith("blacklist.exists: ")

# A sign-up whose answer was lost would make a second organization.
api, sent = client(answer(500))
refused(lambda: api.sign_up(body={"organization_name": "Uno", "name": "Ada", "email": "ada@example.com"}))
assert keys(sent) == [None]
api, sent = client(lost)
try:
    api.sign_up(body={"organization_name": "Uno", "name": "Ada", "email": "ada@example.com"})
    raise AssertionError("It was not lost.")
except httpx.ReadTimeout:
    assert len(sent) == 1

# A locked account is not asked again: each attempt would be another login.
api, sent = client(answer(503, {"code": "authority.account_locked"}, {"Retry-After": "1"}))
assert refused(lambda: api.connect_fiscal_entity(body={"rfc": "EKU9003173C9", "ciec": "locked1"})).code == "authority.account_locked"
assert len(sent) == 1 and waits == []

# A file is answered with its bytes, and a list is sent with those of its file.
BYTES = "\ufeffuuid,total\r\n".encode()
for media in ("text/csv; charset=utf-8", "application/json", "application/zip", "application/x-ndjson"):
    api, sent = client(lambda: httpx.Response(200, content=BYTES, headers={"Content-Type": media}))
    assert api.read_export(export_id="exp_1").content == BYTES
    api, sent = client(lambda: httpx.Response(200, content=BYTES, headers={"Content-Type": media}))
    assert api.read_document(fiscal_entity_id="fe_1", document_id="doc_1").content == BYTES
# A list is answered as a table in CSV by a method of its own, with the same parameters.
api, sent = client(lambda: httpx.Response(200, content=BYTES, headers={"Content-Type": "text/csv", "Link": '</v1/cfdi?cursor=a>; rel="next"'}))
table = api.search_cfdi_csv(fiscal_entity_id="fe_1", limit=100)
assert table.content == BYTES and table.links["next"]["url"] == "/v1/cfdi?cursor=a"
assert sent[0].headers["accept"] == "text/csv" and sent[0].url.params["limit"] == "100"
api, sent = client(answer(200, {"data": []}))
api.search_cfdi(fiscal_entity_id="fe_1")
assert sent[0].headers["accept"] != "text/csv"

api, sent = client(answer(200))
api.replace_custom_blacklist(slug="own", body=b"rfc\n", content_type="text/csv")
assert sent[0].content == b"rfc\n" and sent[0].headers["content-type"] == "text/csv"

# Nothing waits too long.
api, sent = client(answer(429, headers={"Retry-After": "61"}))
assert refused(api.get_organization).status == 429 and waits == []

# Pages and the mirror go on past a page without rows, and end.
PAGES = [{"data": [1], "has_more": True, "next_cursor": "a"}, {"data": [], "has_more": True, "next_cursor": "b"}, {"data": [2], "has_more": False, "next_cursor": "c"}]
api, sent = client(*[answer(200, page) for page in PAGES])
assert list(rows(lambda cursor: api.list_fiscal_entities(cursor=cursor))) == [1, 2]
assert [request.url.params.get("cursor") for request in sent] == [None, "a", "b"]
api, sent = client(*[answer(200, page) for page in PAGES])
assert len(list(pages(lambda cursor: api.list_fiscal_entities(cursor=cursor)))) == 3
api, sent = client(*[answer(200, page) for page in PAGES])
assert [cursor for _, cursor in api.mirror("fe_1")] == ["a", "b", "c"]

# Signing up needs no credential, and sends none.
api, sent = client(answer(201))
api.sign_up(body={"organization_name": "Uno", "name": "Ada", "email": "ada@example.com"})
assert "authorization" in sent[0].headers
api, sent = client(answer(201), credential=(None, None))
api.sign_up(body={"organization_name": "Uno", "name": "Ada", "email": "ada@example.com"})
assert "authorization" not in sent[0].headers


async def awaited() -> None:
    """The same for asyncio, whose client decides with the same code."""
    paused: list[float] = []

    async def pause(seconds: float) -> None:
        paused.append(seconds)

    setattr(asyncio, "sleep", pause)
    sent: list[httpx.Request] = []

    def client(*replies: Reply) -> AsyncFiscalData:
        left = iter(replies)
        sent.clear()

        def handle(request: httpx.Request) -> httpx.Response:
            sent.append(request)
            return next(left)()

        return AsyncFiscalData("https://api.example.com", "key", "secret", transport=httpx.MockTransport(handle))

    async with client(lost, answer(503, headers={"Retry-After": "2"}), answer(201)) as api:
        await api.create_custom_blacklist(body={"slug": "own", "label": "Own"})
    assert paused[1:] == [2.0] and len(set(keys(sent))) == 1 and keys(sent)[0]
    try:
        await client(answer(404, {"code": "cfdi.not_found", "detail": "No."})).get_cfdi(uuid="u")
        raise AssertionError("It was not refused.")
    except FiscalDataError as error:
        assert str(error) == "cfdi.not_found: No."
    api = client(*[answer(200, page) for page in PAGES])
    assert [one async for one in async_rows(lambda cursor: api.list_fiscal_entities(cursor=cursor))] == [1, 2]
    api = client(*[answer(200, page) for page in PAGES])
    assert len([page async for page in async_pages(lambda cursor: api.list_fiscal_entities(cursor=cursor))]) == 3
    api = client(*[answer(200, page) for page in PAGES])
    assert [cursor async for _, cursor in api.mirror("fe_1")] == ["a", "b", "c"]


asyncio.run(awaited())
