"""Sends requests, and sends them again where that does no harm."""

from __future__ import annotations

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
    """An answer of the service that is no success. `code` is stable; the message says what is wrong and what to do."""

    def __init__(self, status: int, problem: Any) -> None:
        told: Mapping[str, Any] = problem if isinstance(problem, dict) else {}
        detail = told.get("detail")
        message = detail.get("message") if isinstance(detail, dict) else detail
        super().__init__(message or f"The service answered {status}.")
        self.status = status
        self.code: str | None = told.get("code")
        """Such as `extractor.not_found`; None where something before the service answered."""
        self.request_id: str | None = told.get("request_id")
        self.errors: list[dict[str, str]] = told.get("errors") or []
        """On 422: what is wrong with the query or the body."""
        self.problem = problem


def quoted(value: str) -> str:
    return quote(value, safe="")


class Transport:
    """Repeats a request after 429 and 503 and, where repeating does no harm, after other failures of the service or of the network.

    A 503 that says that the tax authority has locked an account is not repeated. Every POST gets an Idempotency-Key, so that the service carries it out once; but for sign-up and acceptance of an invitation, which are not
    sent again after such a failure. `longest_wait` is the longest wait in seconds for which a Retry-After is followed; a longer one ends the
    attempts.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        api_secret: str,
        *,
        attempts: int = 4,
        longest_wait: float = 60,
        timeout: float = 60,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._attempts = attempts
        self._longest_wait = longest_wait
        self._http = httpx.Client(
            base_url=base_url.rstrip("/"), auth=httpx.BasicAuth(api_key, api_secret), timeout=timeout, transport=transport
        )

    def close(self) -> None:
        self._http.close()

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        *,
        json: Any = None,
        content: bytes | None = None,
        content_type: str | None = None,
        idempotency_key: str | None = None,
        accept: str | None = None,
    ) -> httpx.Response:
        is_keyed = method == "POST" and not path.startswith(_WITHOUT_KEY)
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())} if is_keyed else {}
        if accept is not None:
            headers["Accept"] = accept
        if content_type is not None and content is not None:
            headers["Content-Type"] = content_type
        params: list[tuple[str, str | int | float | bool | None]] = [(name, _text(one)) for name, value in query.items() if value is not None for one in _each(value)]
        is_repeatable = is_keyed or method in _SAFE
        for attempt in range(1, self._attempts + 1):
            is_last = attempt == self._attempts
            answer: httpx.Response | None = None
            try:
                answer = self._http.request(method, path, params=params, json=json, content=content, headers=headers)
            except httpx.TransportError:
                if is_last or not is_repeatable:
                    raise
            if answer is not None and answer.is_success:
                return answer
            is_worth = (
                answer is None
                or (answer.status_code in _NOT_DONE and _code_of(answer, 503) != _LOCKED)
                or (is_repeatable and answer.status_code in _FAILED)
                # The service is still carrying out a request with the same key, whose answer was lost.
                or (is_keyed and _code_of(answer, 409) == "idempotency.in_flight")
            )
            wait = _wait_of(answer, attempt)
            if answer is not None and (is_last or not is_worth or wait > self._longest_wait):
                raise FiscalDataError(answer.status_code, _problem_of(answer))
            time.sleep(wait)
        raise AssertionError("The last attempt returns or raises.")


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
