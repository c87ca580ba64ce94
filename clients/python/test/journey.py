"""What a customer does, with the packed client alone: connects, waits, mirrors, reads, is refused. Prints what it found as JSON."""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
import time
import uuid
from typing import cast

from fiscal_data import FiscalData, FiscalDataError, is_signed, pages, rows, types


def main(base_url: str, email: str) -> None:
    nobody = FiscalData(base_url)
    credential = nobody.sign_up(body={"organization_name": "Cliente SA", "name": "Ada Pérez", "email": email})["credential"]
    with FiscalData(base_url, credential["api_key"], credential["api_secret"]) as api:
        fiscal_entity_id = api.connect_fiscal_entity(body={"rfc": "EKU9003173C9", "ciec": "secreta1"})["fiscal_entity_id"]
        while api.get_sync(fiscal_entity_id=fiscal_entity_id)["state"] in ("running", "waiting"):
            time.sleep(0.5)

        mirrored: dict[str, types.Cfdi] = {}
        cursor = ""
        for changes, cursor in api.mirror(fiscal_entity_id):
            for change in changes:
                cfdi = change["cfdi"]
                if cfdi is None:
                    mirrored.pop(change["uuid"], None)
                else:
                    mirrored[change["uuid"]] = cfdi
        again = sum(len(changes) for changes, _ in api.mirror(fiscal_entity_id, cursor))

        listed: dict[str, types.Cfdi] = {}
        page_count = 0
        for page in pages(lambda at: api.search_cfdi(fiscal_entity_id=fiscal_entity_id, limit=50, cursor=at)):
            page_count += 1
            # Without `fields` a row is whole.
            for one in cast("list[types.Cfdi]", page["data"]):
                listed[one["uuid"]] = one

        row_count = sum(1 for _ in rows(lambda at: api.list_fiscal_entities(limit=1, cursor=at)))

        refusal = None
        try:
            api.get_cfdi(uuid=str(uuid.uuid4()), fiscal_entity_id=fiscal_entity_id)
        except FiscalDataError as error:
            refusal = {"status": error.status, "code": error.code, "hasId": error.request_id is not None}

        signature = "v1," + hmac.new(b"whsec_1", b"{}", hashlib.sha256).hexdigest()
        signed = [is_signed(b"{}", signature, "whsec_0", "whsec_1"), is_signed(b"{ }", signature, "whsec_1"), is_signed(b"{}", None, "whsec_1")]
    found = {"listed": len(listed), "isEqual": listed == mirrored, "again": again, "pageCount": page_count, "rowCount": row_count, "refusal": refusal, "signed": signed}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
