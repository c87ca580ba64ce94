"""Sends requests, and sends them again where that does no harm."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

Content = httpx.Response
"""An answer that is no JSON: `.content` has its bytes, `.status_code` and `.headers` what belongs to it."""

_SAFE = ("GET", "HEAD", "PUT", "DELETE")
# Refused before anything was done, so that any request may be sent again.
_NOT_DONE = (429, 503)
_FAILED = (500, 502, 504)
# A 503 that no second attempt changes: each one would be another login to an account that the tax authority has locked.
_LOCKED = "authority.account_locked"
# Nobody is known yet to whom an Idempotency-Key could belong: who signed up twice has two organizations.
_WITHOUT_KEY = "/v1/auth/"


class FiscalDataError(Exception):
    """An answer of the service that is no success. `code` is stable; the text has the code, and says what is wrong and what to do."""

    def __init__(self, status: int, problem: Any) -> None:
        told: Mapping[str, Any] = problem if isinstance(problem, dict) else {}
        detail = told.get("detail")
        message = detail.get("message") if isinstance(detail, dict) else detail
        self.code: str | None = told.get("code")
        text = message or f"The service answered {status}."
        super().__init__(f"{self.code}: {text}" if self.code else text)
        self.status = status
        """Such as `extractor.not_found`; None where something before the service answered."""
        self.request_id: str | None = told.get("request_id")
        self.errors: list[dict[str, str]] = told.get("errors") or []
        """On 422: what is wrong with the query or the body."""
        self.problem = problem


def quoted(value: str) -> str:
    return quote(value, safe="")


class _Sending:
    """One request, with what comes after each attempt. It is repeated after 429 and 503 and, where repeating does no harm, after other failures
    of the service or of the network, but not after a 503 that says that the tax authority has locked an account. Every POST gets an
    Idempotency-Key, so that the service carries it out once; but for sign-up and acceptance of an invitation, which are not sent again after
    such a failure.
    """

    def __init__(
        self,
        attempts: int,
        longest_wait: float,
        method: str,
        path: str,
        query: Mapping[str, Any],
        *,
        json: Any = None,
        content: bytes | None = None,
        content_type: str | None = None,
        idempotency_key: str | None = None,
        accept: str | None = None,
    ) -> None:
        self._attempts = attempts
        self._longest_wait = longest_wait
        self._attempt = 0
        self._is_keyed = method == "POST" and not path.startswith(_WITHOUT_KEY)
        self._is_repeatable = self._is_keyed or method in _SAFE
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())} if self._is_keyed else {}
        if accept is not None:
            headers["Accept"] = accept
        if content_type is not None and content is not None:
            headers["Content-Type"] = content_type
        params = [(name, _text(one)) for name, value in query.items() if value is not None for one in _each(value)]
        self.request: dict[str, Any] = {"method": method, "url": path, "params": params, "json": json, "content": content, "headers": headers}

    def wait_after(self, answer: httpx.Response | httpx.TransportError) -> float:
        """The seconds until the next attempt. What ends the attempts is raised."""
        self._attempt += 1
        is_last = self._attempt >= self._attempts
        if isinstance(answer, httpx.TransportError):
            if is_last or not self._is_repeatable:
                raise answer
            return _wait_of(None, self._attempt)
        is_worth = (
            (answer.status_code in _NOT_DONE and _code_of(answer, 503) != _LOCKED)
            or (self._is_repeatable and answer.status_code in _FAILED)
            # The service is still carrying out a request with the same key, whose answer was lost.
            or (self._is_keyed and _code_of(answer, 409) == "idempotency.in_flight")
        )
        wait = _wait_of(answer, self._attempt)
        if is_last or not is_worth or wait > self._longest_wait:
            raise FiscalDataError(answer.status_code, _problem_of(answer))
        return wait


class Transport:
    """Without a key and a secret it can sign up. `longest_wait` is the longest wait in seconds for which a Retry-After is followed; a longer
    one ends the attempts.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        api_secret: str | None = None,
        *,
        attempts: int = 4,
        longest_wait: float = 60,
        timeout: float = 60,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._attempts = attempts
        self._longest_wait = longest_wait
        self._http = httpx.Client(base_url=base_url.rstrip("/"), auth=_auth(api_key, api_secret), timeout=timeout, transport=transport)

    def close(self) -> None:
        self._http.close()

    def _request(self, method: str, path: str, query: Mapping[str, Any], **given: Any) -> httpx.Response:
        sending = _Sending(self._attempts, self._longest_wait, method, path, query, **given)
        while True:
            answer: httpx.Response | httpx.TransportError
            try:
                answer = self._http.request(**sending.request)
                if answer.is_success:
                    return answer
            except httpx.TransportError as error:
                answer = error
            time.sleep(sending.wait_after(answer))


class AsyncTransport:
    """As Transport, for asyncio."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        api_secret: str | None = None,
        *,
        attempts: int = 4,
        longest_wait: float = 60,
        timeout: float = 60,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._attempts = attempts
        self._longest_wait = longest_wait
        self._http = httpx.AsyncClient(base_url=base_url.rstrip("/"), auth=_auth(api_key, api_secret), timeout=timeout, transport=transport)

    async def close(self) -> None:
        await self._http.aclose()

    async def _request(self, method: str, path: str, query: Mapping[str, Any], **given: Any) -> httpx.Response:
        sending = _Sending(self._attempts, self._longest_wait, method, path, query, **given)
        while True:
            answer: httpx.Response | httpx.TransportError
            try:
                answer = await self._http.request(**sending.request)
                if answer.is_success:
                    return answer
            except httpx.TransportError as error:
                answer = error
            await asyncio.sleep(sending.wait_after(answer))


def _auth(api_key: str | None, api_secret: str | None) -> httpx.BasicAuth | None:
    return None if api_key is None or api_secret is None else httpx.BasicAuth(api_key, api_secret)


def _each(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _problem_of(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return answer.text


def _code_of(answer: httpx.Response, status: int) -> Any:
    """The code of an answer with this status; None of any other answer."""
    told = _problem_of(answer) if answer.status_code == status else None
    return told.get("code") if isinstance(told, dict) else None


def _wait_of(answer: httpx.Response | None, attempt: int) -> float:
    """The service's own Retry-After; otherwise longer and longer, and never at the same instant as other clients."""
    told = answer.headers.get("retry-after", "") if answer is not None else ""
    return float(told) if told.isdigit() else 0.5 * 2 ** (attempt - 1) * (0.5 + random.random() / 2)
