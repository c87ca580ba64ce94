"""A typed client of the Fiscal Data Service."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar, cast

from . import types
from .async_operations import AsyncOperations
from .operations import Operations
from .transport import Content, FiscalDataError

__all__ = ["AsyncFiscalData", "Content", "FiscalData", "FiscalDataError", "async_pages", "async_rows", "is_signed", "pages", "rows", "types"]

P = TypeVar("P")


def pages(read: Callable[[str | None], P]) -> Iterator[P]:
    """The pages of a list. `read` gets the cursor of each: `pages(lambda cursor: api.search_cfdi(fiscal_entity_id=…, cursor=cursor))`."""
    cursor: str | None = None
    while True:
        page = read(cursor)
        yield page
        cursor = _next_of(page)
        if cursor is None:
            return


def rows(read: Callable[[str | None], Any]) -> Iterator[Any]:
    """The rows of all pages of a list."""
    for page in pages(read):
        yield from page["data"]


async def async_pages(read: Callable[[str | None], Awaitable[P]]) -> AsyncIterator[P]:
    """`pages` for the methods of AsyncFiscalData."""
    cursor: str | None = None
    while True:
        page = await read(cursor)
        yield page
        cursor = _next_of(page)
        if cursor is None:
            return


async def async_rows(read: Callable[[str | None], Awaitable[Any]]) -> AsyncIterator[Any]:
    """`rows` for the methods of AsyncFiscalData."""
    async for page in async_pages(read):
        for row in page["data"]:
            yield row


def _next_of(page: object) -> str | None:
    told = cast("dict[str, Any]", page)
    return told["next_cursor"] if told["has_more"] else None


def is_signed(body: bytes, header: str | None, *secrets: str) -> bool:
    """Whether a delivery is of the service.

    `body` has the bytes as they arrived, `header` is `Service-Signature`, and `secrets` the endpoint's `signing_secret`, and also the one
    before while it is being rotated.
    """
    given = (header or "").encode("utf-8", "surrogateescape")
    expected = ["v1," + hmac.new(one.encode(), body, hashlib.sha256).hexdigest() for one in secrets]
    return any([hmac.compare_digest(one.encode(), given) for one in expected])


class FiscalData(Operations):
    """The service, with a method for each operation of its reference. A method answers the body of a success and raises FiscalDataError otherwise."""

    def __enter__(self) -> FiscalData:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def mirror(self, fiscal_entity_id: str, cursor: str | None = None, limit: int = 100) -> Iterator[tuple[list[types.CfdiChange], str]]:
        """Everything that became readable or changed since `cursor`, from the beginning without one, until there is nothing more.

        Store each batch's changes and its cursor together: what is repeated after a crash is the same, and nothing is lost. A change with the
        reason `removed` has the UUID alone.
        """
        while True:
            answer = self.list_cfdi_changes(fiscal_entity_id=fiscal_entity_id, cursor=cursor, limit=limit)
            cursor = answer["next_cursor"]
            yield answer["data"], cursor
            if not answer["has_more"]:
                return


class AsyncFiscalData(AsyncOperations):
    """FiscalData for asyncio: the same methods, to be awaited."""

    async def __aenter__(self) -> AsyncFiscalData:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def mirror(self, fiscal_entity_id: str, cursor: str | None = None, limit: int = 100) -> AsyncIterator[tuple[list[types.CfdiChange], str]]:
        """As FiscalData.mirror: `async for changes, cursor in api.mirror(…)`."""
        while True:
            answer = await self.list_cfdi_changes(fiscal_entity_id=fiscal_entity_id, cursor=cursor, limit=limit)
            cursor = answer["next_cursor"]
            yield answer["data"], cursor
            if not answer["has_more"]:
                return
