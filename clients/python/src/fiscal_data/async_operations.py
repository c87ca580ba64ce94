"""A method for each operation of the service. Written by generate.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from . import types
from .transport import Content, AsyncTransport, quoted as _quoted


class AsyncOperations(AsyncTransport):
    async def get_health(self) -> types.Health:
        """Check whether the service can be used."""
        return cast(types.Health, (await self._request('GET', '/health', {})).json())

    async def get_reference(self) -> Content:
        """Read this reference as a page."""
        return await self._request('GET', '/docs', {})

    async def get_reference_file(self, *, file: str) -> Content:
        """Get a guide, or a file that the pages load."""
        return await self._request('GET', f'/docs/{_quoted(file)}', {})

    async def get_llms_text(self) -> Content:
        """Read what a language model should know of this API."""
        return await self._request('GET', '/llms.txt', {})

    async def get_open_api(self) -> types.GetOpenApiAnswer:
        """Get the OpenAPI 3.1 document."""
        return cast(types.GetOpenApiAnswer, (await self._request('GET', '/v1/openapi.json', {})).json())

    async def sign_up(self, *, body: types.SignupDraft, idempotency_key: str | None = None) -> types.Signup:
        """Create an organization."""
        return cast(types.Signup, (await self._request('POST', '/v1/auth/signup', {}, json=body, idempotency_key=idempotency_key)).json())

    async def confirm_email(self, *, body: types.EmailConfirmation, idempotency_key: str | None = None) -> types.ConfirmedEmail:
        """Confirm the e-mail address of a sign-up."""
        return cast(types.ConfirmedEmail, (await self._request('POST', '/v1/auth/email/confirm', {}, json=body, idempotency_key=idempotency_key)).json())

    async def resend_confirmation(self, idempotency_key: str | None = None) -> types.RequestedConfirmation:
        """Have the mail of the sign-up sent again."""
        return cast(types.RequestedConfirmation, (await self._request('POST', '/v1/auth/email/resend', {}, idempotency_key=idempotency_key)).json())

    async def accept_invitation(self, *, body: types.Acceptance, idempotency_key: str | None = None) -> types.Signup:
        """Accept an invitation."""
        return cast(types.Signup, (await self._request('POST', '/v1/auth/invitations/accept', {}, json=body, idempotency_key=idempotency_key)).json())

    async def list_data_sources(self) -> types.DataSourcePage:
        """List the data sources."""
        return cast(types.DataSourcePage, (await self._request('GET', '/v1/fiscal-entities/data-sources', {})).json())

    async def list_fiscal_entities(self, *, limit: int | None = None, cursor: str | None = None, status: types.ConnectionStatus | None = None, rfc: str | None = None, external_id: str | None = None) -> types.FiscalEntityPage:
        """List the connections of the organization."""
        return cast(types.FiscalEntityPage, (await self._request('GET', '/v1/fiscal-entities', {'limit': limit, 'cursor': cursor, 'status': status, 'rfc': rfc, 'external_id': external_id})).json())

    async def connect_fiscal_entity(self, *, body: types.FiscalEntityDraft, idempotency_key: str | None = None) -> types.FiscalEntity:
        """Connect an RFC."""
        return cast(types.FiscalEntity, (await self._request('POST', '/v1/fiscal-entities', {}, json=body, idempotency_key=idempotency_key)).json())

    async def connect_fiscal_entities(self, *, body: types.FiscalEntityBatch, idempotency_key: str | None = None) -> types.FiscalEntityBatchAnswer:
        """Connect up to 100 RFCs."""
        return cast(types.FiscalEntityBatchAnswer, (await self._request('POST', '/v1/fiscal-entities/batch', {}, json=body, idempotency_key=idempotency_key)).json())

    async def get_fiscal_entity(self, *, fiscal_entity_id: str) -> types.FiscalEntity:
        """Get a connection."""
        return cast(types.FiscalEntity, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}', {})).json())

    async def update_fiscal_entity(self, *, fiscal_entity_id: str, body: types.FiscalEntityChanges) -> types.FiscalEntity:
        """Update a connection."""
        return cast(types.FiscalEntity, (await self._request('PATCH', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}', {}, json=body)).json())

    async def unlink_fiscal_entity(self, *, fiscal_entity_id: str) -> Content:
        """Unlink an RFC."""
        return await self._request('DELETE', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}', {})

    async def list_connect_links(self, *, limit: int | None = None, cursor: str | None = None, status: types.NewConnectLinkStatus | None = None) -> types.ConnectLinkPage:
        """List links, newest first."""
        return cast(types.ConnectLinkPage, (await self._request('GET', '/v1/connect-links', {'limit': limit, 'cursor': cursor, 'status': status})).json())

    async def create_connect_link(self, *, body: types.ConnectLinkDraft, idempotency_key: str | None = None) -> types.NewConnectLink:
        """Make a link where a taxpayer connects an RFC."""
        return cast(types.NewConnectLink, (await self._request('POST', '/v1/connect-links', {}, json=body, idempotency_key=idempotency_key)).json())

    async def get_connect_link(self, *, connect_link_id: str) -> types.ConnectLink:
        """Get a link."""
        return cast(types.ConnectLink, (await self._request('GET', f'/v1/connect-links/{_quoted(connect_link_id)}', {})).json())

    async def revoke_connect_link(self, *, connect_link_id: str) -> Content:
        """Revoke a link."""
        return await self._request('DELETE', f'/v1/connect-links/{_quoted(connect_link_id)}', {})

    async def list_consents(self, *, limit: int | None = None, cursor: str | None = None, fiscal_entity_id: str | None = None, status: types.ConsentStatus | None = None) -> types.ConsentPage:
        """List consents, newest first."""
        return cast(types.ConsentPage, (await self._request('GET', '/v1/consents', {'limit': limit, 'cursor': cursor, 'fiscal_entity_id': fiscal_entity_id, 'status': status})).json())

    async def get_consent(self, *, consent_id: str) -> types.Consent:
        """Get a consent."""
        return cast(types.Consent, (await self._request('GET', f'/v1/consents/{_quoted(consent_id)}', {})).json())

    async def withdraw_consent(self, *, consent_id: str, idempotency_key: str | None = None) -> types.Consent:
        """Withdraw a consent."""
        return cast(types.Consent, (await self._request('POST', f'/v1/consents/{_quoted(consent_id)}/withdraw', {}, idempotency_key=idempotency_key)).json())

    async def list_exports(self, *, limit: int | None = None, cursor: str | None = None) -> types.ExportPage:
        """List exports, newest first."""
        return cast(types.ExportPage, (await self._request('GET', '/v1/exports', {'limit': limit, 'cursor': cursor})).json())

    async def create_export(self, *, body: types.CreateExportRequest, idempotency_key: str | None = None) -> types.Export:
        """Begin an export."""
        return cast(types.Export, (await self._request('POST', '/v1/exports', {}, json=body, idempotency_key=idempotency_key)).json())

    async def get_export(self, *, export_id: str) -> types.Export:
        """Get an export with its progress."""
        return cast(types.Export, (await self._request('GET', f'/v1/exports/{_quoted(export_id)}', {})).json())

    async def delete_export(self, *, export_id: str) -> Content:
        """Delete an export with its content."""
        return await self._request('DELETE', f'/v1/exports/{_quoted(export_id)}', {})

    async def read_export(self, *, export_id: str) -> Content:
        """Download the content of an export."""
        return await self._request('GET', f'/v1/exports/{_quoted(export_id)}/content', {})

    async def list_storage_connectors(self, *, limit: int | None = None, cursor: str | None = None) -> types.StorageConnectorPage:
        """List the storage connectors, oldest first."""
        return cast(types.StorageConnectorPage, (await self._request('GET', '/v1/storage-connectors', {'limit': limit, 'cursor': cursor})).json())

    async def create_storage_connector(self, *, body: types.StorageConnectorDraft, idempotency_key: str | None = None) -> types.StorageConnector:
        """Create a storage connector."""
        return cast(types.StorageConnector, (await self._request('POST', '/v1/storage-connectors', {}, json=body, idempotency_key=idempotency_key)).json())

    async def get_storage_connector(self, *, connector_id: str) -> types.StorageConnector:
        """Get a storage connector."""
        return cast(types.StorageConnector, (await self._request('GET', f'/v1/storage-connectors/{_quoted(connector_id)}', {})).json())

    async def update_storage_connector(self, *, connector_id: str, body: types.StorageConnectorChanges) -> types.StorageConnector:
        """Update a storage connector."""
        return cast(types.StorageConnector, (await self._request('PATCH', f'/v1/storage-connectors/{_quoted(connector_id)}', {}, json=body)).json())

    async def delete_storage_connector(self, *, connector_id: str) -> Content:
        """Delete a storage connector."""
        return await self._request('DELETE', f'/v1/storage-connectors/{_quoted(connector_id)}', {})

    async def list_refused_documents(self, *, connector_id: str, limit: int | None = None, cursor: str | None = None) -> types.StorageRefusedDocumentPage:
        """List the documents that the destination refuses."""
        return cast(types.StorageRefusedDocumentPage, (await self._request('GET', f'/v1/storage-connectors/{_quoted(connector_id)}/refused-documents', {'limit': limit, 'cursor': cursor})).json())

    async def test_storage_connector(self, *, connector_id: str, idempotency_key: str | None = None) -> types.StorageConnectorTest:
        """Test a storage connector."""
        return cast(types.StorageConnectorTest, (await self._request('POST', f'/v1/storage-connectors/{_quoted(connector_id)}/test', {}, idempotency_key=idempotency_key)).json())

    async def backfill_storage_connector(self, *, connector_id: str, idempotency_key: str | None = None) -> types.StorageBackfill:
        """Copy what is already held."""
        return cast(types.StorageBackfill, (await self._request('POST', f'/v1/storage-connectors/{_quoted(connector_id)}/backfill', {}, idempotency_key=idempotency_key)).json())

    async def list_extractors(self) -> types.ExtractorList:
        """List extractors."""
        return cast(types.ExtractorList, (await self._request('GET', '/v1/extractors', {})).json())

    async def create_extractor(self, *, body: types.ExtractorDraft, idempotency_key: str | None = None) -> types.Extractor:
        """Create an extractor."""
        return cast(types.Extractor, (await self._request('POST', '/v1/extractors', {}, json=body, idempotency_key=idempotency_key)).json())

    async def get_extractor(self, *, extractor_id: str) -> types.Extractor:
        """Get an extractor."""
        return cast(types.Extractor, (await self._request('GET', f'/v1/extractors/{_quoted(extractor_id)}', {})).json())

    async def update_extractor(self, *, extractor_id: str, body: types.ExtractorChanges) -> types.Extractor:
        """Update an extractor."""
        return cast(types.Extractor, (await self._request('PATCH', f'/v1/extractors/{_quoted(extractor_id)}', {}, json=body)).json())

    async def delete_extractor(self, *, extractor_id: str) -> Content:
        """Delete an extractor."""
        return await self._request('DELETE', f'/v1/extractors/{_quoted(extractor_id)}', {})

    async def preview_extractor(self, *, body: types.ExtractorPreviewDraft, idempotency_key: str | None = None) -> types.ExtractorPreview:
        """Preview what an extractor would fetch."""
        return cast(types.ExtractorPreview, (await self._request('POST', '/v1/extractors/preview', {}, json=body, idempotency_key=idempotency_key)).json())

    async def run_extractor(self, *, extractor_id: str, idempotency_key: str | None = None) -> types.ExtractorRun:
        """Run an extractor now."""
        return cast(types.ExtractorRun, (await self._request('POST', f'/v1/extractors/{_quoted(extractor_id)}/run', {}, idempotency_key=idempotency_key)).json())

    async def list_runs(self, *, extractor_id: str, limit: int | None = None, cursor: str | None = None) -> types.RunPage:
        """List the runs of an extractor."""
        return cast(types.RunPage, (await self._request('GET', f'/v1/extractors/{_quoted(extractor_id)}/runs', {'limit': limit, 'cursor': cursor})).json())

    async def cancel_run(self, *, run_id: str, idempotency_key: str | None = None) -> types.CancelledRun:
        """Cancel a run."""
        return cast(types.CancelledRun, (await self._request('POST', f'/v1/runs/{_quoted(run_id)}/cancel', {}, idempotency_key=idempotency_key)).json())

    async def get_run(self, *, run_id: str) -> types.RunProgress:
        """Get a run with its downloads."""
        return cast(types.RunProgress, (await self._request('GET', f'/v1/runs/{_quoted(run_id)}', {})).json())

    async def list_run_jobs(self, *, run_id: str, limit: int | None = None, cursor: str | None = None, status: types.RunJobStatus | None = None) -> types.RunJobPage:
        """List the downloads of a run."""
        return cast(types.RunJobPage, (await self._request('GET', f'/v1/runs/{_quoted(run_id)}/jobs', {'limit': limit, 'cursor': cursor, 'status': status})).json())

    async def create_extraction(self, *, fiscal_entity_id: str, body: types.ExtractionDraft, idempotency_key: str | None = None) -> types.RunProgress:
        """Download a range of one RFC now."""
        return cast(types.RunProgress, (await self._request('POST', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/extractions', {}, json=body, idempotency_key=idempotency_key)).json())

    async def list_entity_runs(self, *, fiscal_entity_id: str, limit: int | None = None, cursor: str | None = None) -> types.RunProgressPage:
        """List the runs that covered an RFC."""
        return cast(types.RunProgressPage, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/runs', {'limit': limit, 'cursor': cursor})).json())

    async def list_portfolio_attention(self, *, limit: int | None = None, cursor: str | None = None) -> types.PortfolioAttentionPage:
        """List the RFCs that need somebody."""
        return cast(types.PortfolioAttentionPage, (await self._request('GET', '/v1/portfolio/attention', {'limit': limit, 'cursor': cursor})).json())

    async def list_sync(self, *, limit: int | None = None, cursor: str | None = None, state: types.SyncState | None = None, fiscal_entity_id: str | None = None) -> types.SyncStatusPage:
        """List where the downloads of all RFCs are."""
        return cast(types.SyncStatusPage, (await self._request('GET', '/v1/sync', {'limit': limit, 'cursor': cursor, 'state': state, 'fiscal_entity_id': fiscal_entity_id})).json())

    async def get_sync(self, *, fiscal_entity_id: str) -> types.SyncStatus:
        """Get where the downloads of an RFC are."""
        return cast(types.SyncStatus, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/sync', {})).json())

    async def list_sync_jobs(self, *, fiscal_entity_id: str, limit: int | None = None, cursor: str | None = None, status: types.RunJobStatus | None = None) -> types.SyncJobPage:
        """List the download jobs of an RFC."""
        return cast(types.SyncJobPage, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/sync-jobs', {'limit': limit, 'cursor': cursor, 'status': status})).json())

    async def list_coverage(self, *, fiscal_entity_id: str, limit: int | None = None, cursor: str | None = None, source: types.CfdiSource | None = None, from_: str | None = None, to: str | None = None) -> types.CoverageMonthPage:
        """List what is held and what is missing of each month."""
        return cast(types.CoverageMonthPage, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/coverage', {'limit': limit, 'cursor': cursor, 'source': source, 'from': from_, 'to': to})).json())

    async def list_lacking_documents(self, *, fiscal_entity_id: str, source: types.CfdiSource, month: str, limit: int | None = None, cursor: str | None = None) -> types.LackingDocumentPage:
        """List the documents of a month that are not held whole."""
        return cast(types.LackingDocumentPage, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/coverage/{_quoted(source)}/{_quoted(month)}', {'limit': limit, 'cursor': cursor})).json())

    async def list_imports(self, *, fiscal_entity_id: str, limit: int | None = None, cursor: str | None = None) -> types.ImportSummaryPage:
        """List the imports for an RFC, newest first."""
        return cast(types.ImportSummaryPage, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/cfdi/imports', {'limit': limit, 'cursor': cursor})).json())

    async def import_cfdi(self, *, fiscal_entity_id: str, body: bytes, content_type: str = 'application/octet-stream', idempotency_key: str | None = None) -> types.Import:
        """Import your own CFDIs."""
        return cast(types.Import, (await self._request('POST', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/cfdi/imports', {}, content=body, content_type=content_type, idempotency_key=idempotency_key)).json())

    async def get_import(self, *, fiscal_entity_id: str, import_id: str) -> types.Import:
        """Get an import with the result of each file."""
        return cast(types.Import, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/cfdi/imports/{_quoted(import_id)}', {})).json())

    async def delete_import(self, *, fiscal_entity_id: str, import_id: str) -> types.Import:
        """Delete an import with its documents."""
        return cast(types.Import, (await self._request('DELETE', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/cfdi/imports/{_quoted(import_id)}', {})).json())

    async def list_cfdi_changes(self, *, fiscal_entity_id: str | None = None, limit: int | None = None, cursor: str | None = None, from_: Literal['now'] | None = None) -> types.CfdiChanges:
        """Follow changes of CFDIs."""
        return cast(types.CfdiChanges, (await self._request('GET', '/v1/cfdi/changes', {'fiscal_entity_id': fiscal_entity_id, 'limit': limit, 'cursor': cursor, 'from': from_})).json())

    async def get_concentration(self, *, direction: types.Direction, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, include_generic: bool | None = None, limit: int | None = None, cursor: str | None = None) -> types.Concentration:
        """Measure the concentration of customers or suppliers."""
        return cast(types.Concentration, (await self._request('GET', '/v1/cfdi/concentration', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'include_generic': include_generic, 'limit': limit, 'cursor': cursor})).json())

    async def get_concentration_csv(self, *, direction: types.Direction, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, include_generic: bool | None = None, limit: int | None = None, cursor: str | None = None) -> Content:
        """Measure the concentration of customers or suppliers, as a table in CSV."""
        return await self._request('GET', '/v1/cfdi/concentration', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'include_generic': include_generic, 'limit': limit, 'cursor': cursor}, accept='text/csv')

    async def list_concentration_entries(self, *, direction: types.Direction, figure: types.ListConcentrationEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, include_generic: bool | None = None, limit: int | None = None, cursor: str | None = None, rfc: str | None = None, month: str | None = None) -> types.InsightEntriesPage:
        """List the documents behind a figure of concentration."""
        return cast(types.InsightEntriesPage, (await self._request('GET', '/v1/cfdi/concentration/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'include_generic': include_generic, 'limit': limit, 'cursor': cursor, 'figure': figure, 'rfc': rfc, 'month': month})).json())

    async def list_concentration_entries_csv(self, *, direction: types.Direction, figure: types.ListConcentrationEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, include_generic: bool | None = None, limit: int | None = None, cursor: str | None = None, rfc: str | None = None, month: str | None = None) -> Content:
        """List the documents behind a figure of concentration, as a table in CSV."""
        return await self._request('GET', '/v1/cfdi/concentration/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'include_generic': include_generic, 'limit': limit, 'cursor': cursor, 'figure': figure, 'rfc': rfc, 'month': month}, accept='text/csv')

    async def list_risk(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, direction: types.Direction | None = None, level: str | None = None, code: str | None = None, min_total: str | None = None, limit: int | None = None, cursor: str | None = None) -> types.Risk:
        """List documents by risk."""
        return cast(types.Risk, (await self._request('GET', '/v1/cfdi/risk', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'level': level, 'code': code, 'min_total': min_total, 'limit': limit, 'cursor': cursor})).json())

    async def list_risk_csv(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, direction: types.Direction | None = None, level: str | None = None, code: str | None = None, min_total: str | None = None, limit: int | None = None, cursor: str | None = None) -> Content:
        """List documents by risk, as a table in CSV."""
        return await self._request('GET', '/v1/cfdi/risk', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'level': level, 'code': code, 'min_total': min_total, 'limit': limit, 'cursor': cursor}, accept='text/csv')

    async def list_risk_entries(self, *, figure: types.ListRiskEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, direction: types.Direction | None = None, level: str | None = None, code: str | None = None, min_total: str | None = None, limit: int | None = None, cursor: str | None = None) -> types.InsightEntriesPage:
        """List the documents that risk leaves out of amounts."""
        return cast(types.InsightEntriesPage, (await self._request('GET', '/v1/cfdi/risk/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'level': level, 'code': code, 'min_total': min_total, 'limit': limit, 'cursor': cursor, 'figure': figure})).json())

    async def list_risk_entries_csv(self, *, figure: types.ListRiskEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, direction: types.Direction | None = None, level: str | None = None, code: str | None = None, min_total: str | None = None, limit: int | None = None, cursor: str | None = None) -> Content:
        """List the documents that risk leaves out of amounts, as a table in CSV."""
        return await self._request('GET', '/v1/cfdi/risk/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'level': level, 'code': code, 'min_total': min_total, 'limit': limit, 'cursor': cursor, 'figure': figure}, accept='text/csv')

    async def list_deductions(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, profile: types.DeductionProfile | None = None, annual_income: str | None = None, limit: int | None = None, cursor: str | None = None) -> types.Deductions:
        """List deductions."""
        return cast(types.Deductions, (await self._request('GET', '/v1/cfdi/deductions', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'profile': profile, 'annual_income': annual_income, 'limit': limit, 'cursor': cursor})).json())

    async def list_deductions_csv(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, profile: types.DeductionProfile | None = None, annual_income: str | None = None, limit: int | None = None, cursor: str | None = None) -> Content:
        """List deductions, as a table in CSV."""
        return await self._request('GET', '/v1/cfdi/deductions', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'profile': profile, 'annual_income': annual_income, 'limit': limit, 'cursor': cursor}, accept='text/csv')

    async def list_deduction_entries(self, *, figure: types.ListDeductionEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, profile: types.DeductionProfile | None = None, annual_income: str | None = None, limit: int | None = None, cursor: str | None = None, year: str | None = None, category: str | None = None) -> types.InsightEntriesPage:
        """List the documents behind a total of deductions."""
        return cast(types.InsightEntriesPage, (await self._request('GET', '/v1/cfdi/deductions/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'profile': profile, 'annual_income': annual_income, 'limit': limit, 'cursor': cursor, 'figure': figure, 'year': year, 'category': category})).json())

    async def list_deduction_entries_csv(self, *, figure: types.ListDeductionEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, profile: types.DeductionProfile | None = None, annual_income: str | None = None, limit: int | None = None, cursor: str | None = None, year: str | None = None, category: str | None = None) -> Content:
        """List the documents behind a total of deductions, as a table in CSV."""
        return await self._request('GET', '/v1/cfdi/deductions/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'profile': profile, 'annual_income': annual_income, 'limit': limit, 'cursor': cursor, 'figure': figure, 'year': year, 'category': category}, accept='text/csv')

    async def list_withholdings(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, role: types.WithholdingRole | None = None, impuesto: types.Impuesto | None = None, concept_class: types.WithholdingConceptClass | None = None, source: types.WithholdingSource | None = None, missing: str | None = None, limit: int | None = None, cursor: str | None = None) -> types.Withholdings:
        """List withholdings."""
        return cast(types.Withholdings, (await self._request('GET', '/v1/cfdi/withholdings', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'role': role, 'impuesto': impuesto, 'concept_class': concept_class, 'source': source, 'missing': missing, 'limit': limit, 'cursor': cursor})).json())

    async def list_withholdings_csv(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, role: types.WithholdingRole | None = None, impuesto: types.Impuesto | None = None, concept_class: types.WithholdingConceptClass | None = None, source: types.WithholdingSource | None = None, missing: str | None = None, limit: int | None = None, cursor: str | None = None) -> Content:
        """List withholdings, as a table in CSV."""
        return await self._request('GET', '/v1/cfdi/withholdings', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'role': role, 'impuesto': impuesto, 'concept_class': concept_class, 'source': source, 'missing': missing, 'limit': limit, 'cursor': cursor}, accept='text/csv')

    async def list_withholding_entries(self, *, figure: types.ListWithholdingEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, period: str | None = None, limit: int | None = None, cursor: str | None = None) -> types.InsightEntriesPage:
        """List the documents behind the totals of withholdings."""
        return cast(types.InsightEntriesPage, (await self._request('GET', '/v1/cfdi/withholdings/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'period': period, 'figure': figure, 'limit': limit, 'cursor': cursor})).json())

    async def list_withholding_entries_csv(self, *, figure: types.ListWithholdingEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, period: str | None = None, limit: int | None = None, cursor: str | None = None) -> Content:
        """List the documents behind the totals of withholdings, as a table in CSV."""
        return await self._request('GET', '/v1/cfdi/withholdings/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'period': period, 'figure': figure, 'limit': limit, 'cursor': cursor}, accept='text/csv')

    async def get_risk_indicators(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None) -> types.RiskIndicators:
        """Measure risk by twelve indicators."""
        return cast(types.RiskIndicators, (await self._request('GET', '/v1/analytics/risk', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to})).json())

    async def get_risk_indicators_csv(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None) -> Content:
        """Measure risk by twelve indicators, as a table in CSV."""
        return await self._request('GET', '/v1/analytics/risk', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to}, accept='text/csv')

    async def list_risk_indicator_entries(self, *, figure: types.ListRiskIndicatorEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, limit: int | None = None, cursor: str | None = None) -> types.InsightEntriesPage:
        """List the documents behind an indicator of risk."""
        return cast(types.InsightEntriesPage, (await self._request('GET', '/v1/analytics/risk/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'limit': limit, 'cursor': cursor, 'figure': figure})).json())

    async def list_risk_indicator_entries_csv(self, *, figure: types.ListRiskIndicatorEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, limit: int | None = None, cursor: str | None = None) -> Content:
        """List the documents behind an indicator of risk, as a table in CSV."""
        return await self._request('GET', '/v1/analytics/risk/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'limit': limit, 'cursor': cursor, 'figure': figure}, accept='text/csv')

    async def get_vat_position(self, *, fiscal_entity_id: str | None = None, period: str | None = None, from_: str | None = None, to: str | None = None, terceros: types.GetVatPositionTerceros | None = None, prorrateo: str | None = None, no_objeto: types.GetVatPositionNoObjeto | None = None, taxed_suppliers: str | None = None, exempt_suppliers: str | None = None) -> types.VatPosition:
        """Get the VAT position."""
        return cast(types.VatPosition, (await self._request('GET', '/v1/analytics/vat-position', {'fiscal_entity_id': fiscal_entity_id, 'period': period, 'from': from_, 'to': to, 'terceros': terceros, 'prorrateo': prorrateo, 'no_objeto': no_objeto, 'taxed_suppliers': taxed_suppliers, 'exempt_suppliers': exempt_suppliers})).json())

    async def get_vat_position_csv(self, *, fiscal_entity_id: str | None = None, period: str | None = None, from_: str | None = None, to: str | None = None, terceros: types.GetVatPositionTerceros | None = None, prorrateo: str | None = None, no_objeto: types.GetVatPositionNoObjeto | None = None, taxed_suppliers: str | None = None, exempt_suppliers: str | None = None) -> Content:
        """Get the VAT position, as a table in CSV."""
        return await self._request('GET', '/v1/analytics/vat-position', {'fiscal_entity_id': fiscal_entity_id, 'period': period, 'from': from_, 'to': to, 'terceros': terceros, 'prorrateo': prorrateo, 'no_objeto': no_objeto, 'taxed_suppliers': taxed_suppliers, 'exempt_suppliers': exempt_suppliers}, accept='text/csv')

    async def list_vat_entries(self, *, figure: types.ListVatEntriesFigure, fiscal_entity_id: str | None = None, period: str | None = None, from_: str | None = None, to: str | None = None, rfc: str | None = None, returned: bool | None = None, border_region: types.ListVatEntriesBorderRegion | None = None, terceros: types.GetVatPositionTerceros | None = None, limit: int | None = None, cursor: str | None = None) -> types.InsightEntriesPage:
        """List the documents behind the VAT position."""
        return cast(types.InsightEntriesPage, (await self._request('GET', '/v1/analytics/vat-position/entries', {'fiscal_entity_id': fiscal_entity_id, 'period': period, 'from': from_, 'to': to, 'figure': figure, 'rfc': rfc, 'returned': returned, 'border_region': border_region, 'terceros': terceros, 'limit': limit, 'cursor': cursor})).json())

    async def list_vat_entries_csv(self, *, figure: types.ListVatEntriesFigure, fiscal_entity_id: str | None = None, period: str | None = None, from_: str | None = None, to: str | None = None, rfc: str | None = None, returned: bool | None = None, border_region: types.ListVatEntriesBorderRegion | None = None, terceros: types.GetVatPositionTerceros | None = None, limit: int | None = None, cursor: str | None = None) -> Content:
        """List the documents behind the VAT position, as a table in CSV."""
        return await self._request('GET', '/v1/analytics/vat-position/entries', {'fiscal_entity_id': fiscal_entity_id, 'period': period, 'from': from_, 'to': to, 'figure': figure, 'rfc': rfc, 'returned': returned, 'border_region': border_region, 'terceros': terceros, 'limit': limit, 'cursor': cursor}, accept='text/csv')

    async def get_isr_payment(self, *, regimen: types.IsrPaymentRegimen, fiscal_entity_id: str | None = None, period: str | None = None, coefficient: str | None = None, other_deductions: str | None = None, losses: str | None = None, ptu: str | None = None, earlier_payments: str | None = None) -> types.IsrPayment:
        """Compute the provisional payment of ISR."""
        return cast(types.IsrPayment, (await self._request('GET', '/v1/analytics/isr-provisional', {'fiscal_entity_id': fiscal_entity_id, 'period': period, 'regimen': regimen, 'coefficient': coefficient, 'other_deductions': other_deductions, 'losses': losses, 'ptu': ptu, 'earlier_payments': earlier_payments})).json())

    async def get_isr_payment_csv(self, *, regimen: types.IsrPaymentRegimen, fiscal_entity_id: str | None = None, period: str | None = None, coefficient: str | None = None, other_deductions: str | None = None, losses: str | None = None, ptu: str | None = None, earlier_payments: str | None = None) -> Content:
        """Compute the provisional payment of ISR, as a table in CSV."""
        return await self._request('GET', '/v1/analytics/isr-provisional', {'fiscal_entity_id': fiscal_entity_id, 'period': period, 'regimen': regimen, 'coefficient': coefficient, 'other_deductions': other_deductions, 'losses': losses, 'ptu': ptu, 'earlier_payments': earlier_payments}, accept='text/csv')

    async def get_isr_file(self, *, regimen: types.IsrPaymentRegimen, format: types.GetIsrFileFormat, fiscal_entity_id: str | None = None, period: str | None = None, coefficient: str | None = None, other_deductions: str | None = None, losses: str | None = None, ptu: str | None = None, earlier_payments: str | None = None, language: types.MailPreferencesLanguage | None = None) -> Content:
        """Download the provisional payment of ISR with its documents."""
        return await self._request('GET', '/v1/analytics/isr-provisional/file', {'fiscal_entity_id': fiscal_entity_id, 'period': period, 'regimen': regimen, 'coefficient': coefficient, 'other_deductions': other_deductions, 'losses': losses, 'ptu': ptu, 'earlier_payments': earlier_payments, 'format': format, 'language': language})

    async def list_isr_entries(self, *, regimen: types.IsrPaymentRegimen, figure: types.ListIsrEntriesFigure, fiscal_entity_id: str | None = None, period: str | None = None, limit: int | None = None, cursor: str | None = None) -> types.InsightEntriesPage:
        """List the documents behind a line of the payment of ISR."""
        return cast(types.InsightEntriesPage, (await self._request('GET', '/v1/analytics/isr-provisional/entries', {'fiscal_entity_id': fiscal_entity_id, 'period': period, 'regimen': regimen, 'limit': limit, 'cursor': cursor, 'figure': figure})).json())

    async def list_isr_entries_csv(self, *, regimen: types.IsrPaymentRegimen, figure: types.ListIsrEntriesFigure, fiscal_entity_id: str | None = None, period: str | None = None, limit: int | None = None, cursor: str | None = None) -> Content:
        """List the documents behind a line of the payment of ISR, as a table in CSV."""
        return await self._request('GET', '/v1/analytics/isr-provisional/entries', {'fiscal_entity_id': fiscal_entity_id, 'period': period, 'regimen': regimen, 'limit': limit, 'cursor': cursor, 'figure': figure}, accept='text/csv')

    async def get_concepts(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, direction: types.Direction | None = None, level: types.ConceptLevel | None = None, terceros: types.GetVatPositionTerceros | None = None, limit: int | None = None, cursor: str | None = None) -> types.Concepts:
        """Analyze what was bought or sold."""
        return cast(types.Concepts, (await self._request('GET', '/v1/analytics/concepts', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'level': level, 'terceros': terceros, 'limit': limit, 'cursor': cursor})).json())

    async def get_concepts_csv(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, direction: types.Direction | None = None, level: types.ConceptLevel | None = None, terceros: types.GetVatPositionTerceros | None = None, limit: int | None = None, cursor: str | None = None) -> Content:
        """Analyze what was bought or sold, as a table in CSV."""
        return await self._request('GET', '/v1/analytics/concepts', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'level': level, 'terceros': terceros, 'limit': limit, 'cursor': cursor}, accept='text/csv')

    async def list_concepts_entries(self, *, figure: types.ListConceptsEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, direction: types.Direction | None = None, level: types.ConceptLevel | None = None, terceros: types.GetVatPositionTerceros | None = None, limit: int | None = None, cursor: str | None = None, key: str | None = None, month: str | None = None) -> types.InsightEntriesPage:
        """List the documents behind a figure of concepts."""
        return cast(types.InsightEntriesPage, (await self._request('GET', '/v1/analytics/concepts/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'level': level, 'terceros': terceros, 'limit': limit, 'cursor': cursor, 'figure': figure, 'key': key, 'month': month})).json())

    async def list_concepts_entries_csv(self, *, figure: types.ListConceptsEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, direction: types.Direction | None = None, level: types.ConceptLevel | None = None, terceros: types.GetVatPositionTerceros | None = None, limit: int | None = None, cursor: str | None = None, key: str | None = None, month: str | None = None) -> Content:
        """List the documents behind a figure of concepts, as a table in CSV."""
        return await self._request('GET', '/v1/analytics/concepts/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'level': level, 'terceros': terceros, 'limit': limit, 'cursor': cursor, 'figure': figure, 'key': key, 'month': month}, accept='text/csv')

    async def get_efos_exposure(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, direction: types.Direction | None = None, as_of: str | None = None, limit: int | None = None, cursor: str | None = None) -> types.EfosExposure:
        """Measure the exposure to counterparties on the list of article 69-B."""
        return cast(types.EfosExposure, (await self._request('GET', '/v1/analytics/efos-exposure', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'as_of': as_of, 'limit': limit, 'cursor': cursor})).json())

    async def get_efos_exposure_csv(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, direction: types.Direction | None = None, as_of: str | None = None, limit: int | None = None, cursor: str | None = None) -> Content:
        """Measure the exposure to counterparties on the list of article 69-B, as a table in CSV."""
        return await self._request('GET', '/v1/analytics/efos-exposure', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'as_of': as_of, 'limit': limit, 'cursor': cursor}, accept='text/csv')

    async def list_efos_entries(self, *, figure: types.ListEfosEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, direction: types.Direction | None = None, as_of: str | None = None, limit: int | None = None, cursor: str | None = None, rfc: str | None = None) -> types.InsightEntriesPage:
        """List the documents behind a figure of the exposure."""
        return cast(types.InsightEntriesPage, (await self._request('GET', '/v1/analytics/efos-exposure/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'as_of': as_of, 'limit': limit, 'cursor': cursor, 'figure': figure, 'rfc': rfc})).json())

    async def list_efos_entries_csv(self, *, figure: types.ListEfosEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, direction: types.Direction | None = None, as_of: str | None = None, limit: int | None = None, cursor: str | None = None, rfc: str | None = None) -> Content:
        """List the documents behind a figure of the exposure, as a table in CSV."""
        return await self._request('GET', '/v1/analytics/efos-exposure/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction, 'as_of': as_of, 'limit': limit, 'cursor': cursor, 'figure': figure, 'rfc': rfc}, accept='text/csv')

    async def get_financing(self, *, fiscal_entity_id: str | None = None, as_of: str | None = None, advance_rate: str | None = None, max_age_days: int | None = None, debtor_cap: str | None = None, limit: int | None = None, cursor: str | None = None) -> types.Financing:
        """Get receivables, payables and what could be lent upon them."""
        return cast(types.Financing, (await self._request('GET', '/v1/analytics/financing', {'fiscal_entity_id': fiscal_entity_id, 'as_of': as_of, 'advance_rate': advance_rate, 'max_age_days': max_age_days, 'debtor_cap': debtor_cap, 'limit': limit, 'cursor': cursor})).json())

    async def get_financing_csv(self, *, fiscal_entity_id: str | None = None, as_of: str | None = None, advance_rate: str | None = None, max_age_days: int | None = None, debtor_cap: str | None = None, limit: int | None = None, cursor: str | None = None) -> Content:
        """Get receivables, payables and what could be lent upon them, as a table in CSV."""
        return await self._request('GET', '/v1/analytics/financing', {'fiscal_entity_id': fiscal_entity_id, 'as_of': as_of, 'advance_rate': advance_rate, 'max_age_days': max_age_days, 'debtor_cap': debtor_cap, 'limit': limit, 'cursor': cursor}, accept='text/csv')

    async def list_financing_entries(self, *, figure: types.ListFinancingEntriesFigure, fiscal_entity_id: str | None = None, as_of: str | None = None, advance_rate: str | None = None, max_age_days: int | None = None, debtor_cap: str | None = None, limit: int | None = None, cursor: str | None = None, rfc: str | None = None, month: str | None = None) -> types.InsightEntriesPage:
        """List the documents behind a figure of financing."""
        return cast(types.InsightEntriesPage, (await self._request('GET', '/v1/analytics/financing/entries', {'fiscal_entity_id': fiscal_entity_id, 'as_of': as_of, 'advance_rate': advance_rate, 'max_age_days': max_age_days, 'debtor_cap': debtor_cap, 'limit': limit, 'cursor': cursor, 'figure': figure, 'rfc': rfc, 'month': month})).json())

    async def list_financing_entries_csv(self, *, figure: types.ListFinancingEntriesFigure, fiscal_entity_id: str | None = None, as_of: str | None = None, advance_rate: str | None = None, max_age_days: int | None = None, debtor_cap: str | None = None, limit: int | None = None, cursor: str | None = None, rfc: str | None = None, month: str | None = None) -> Content:
        """List the documents behind a figure of financing, as a table in CSV."""
        return await self._request('GET', '/v1/analytics/financing/entries', {'fiscal_entity_id': fiscal_entity_id, 'as_of': as_of, 'advance_rate': advance_rate, 'max_age_days': max_age_days, 'debtor_cap': debtor_cap, 'limit': limit, 'cursor': cursor, 'figure': figure, 'rfc': rfc, 'month': month}, accept='text/csv')

    async def get_fx_exposure(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, as_of: str | None = None) -> types.FxExposure:
        """Measure the exposure to exchange rates."""
        return cast(types.FxExposure, (await self._request('GET', '/v1/analytics/fx-exposure', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'as_of': as_of})).json())

    async def get_fx_exposure_csv(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, as_of: str | None = None) -> Content:
        """Measure the exposure to exchange rates, as a table in CSV."""
        return await self._request('GET', '/v1/analytics/fx-exposure', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'as_of': as_of}, accept='text/csv')

    async def list_fx_exposure_entries(self, *, figure: types.ListFxExposureEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, as_of: str | None = None, limit: int | None = None, cursor: str | None = None, currency: str | None = None) -> types.InsightEntriesPage:
        """List the documents behind a figure of the exposure."""
        return cast(types.InsightEntriesPage, (await self._request('GET', '/v1/analytics/fx-exposure/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'as_of': as_of, 'limit': limit, 'cursor': cursor, 'figure': figure, 'currency': currency})).json())

    async def list_fx_exposure_entries_csv(self, *, figure: types.ListFxExposureEntriesFigure, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, as_of: str | None = None, limit: int | None = None, cursor: str | None = None, currency: str | None = None) -> Content:
        """List the documents behind a figure of the exposure, as a table in CSV."""
        return await self._request('GET', '/v1/analytics/fx-exposure/entries', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'as_of': as_of, 'limit': limit, 'cursor': cursor, 'figure': figure, 'currency': currency}, accept='text/csv')

    async def get_diot_file(self, *, month: str, fiscal_entity_id: str | None = None, incomplete: types.GetDiotFileIncomplete | None = None) -> Content:
        """Download the file of the DIOT of a month."""
        return await self._request('GET', '/v1/reports/diot/file', {'fiscal_entity_id': fiscal_entity_id, 'month': month, 'incomplete': incomplete})

    async def check_diot(self, *, month: str, fiscal_entity_id: str | None = None, limit: int | None = None, cursor: str | None = None) -> types.DiotCheck:
        """Check the file of the DIOT of a month."""
        return cast(types.DiotCheck, (await self._request('GET', '/v1/reports/diot/check', {'fiscal_entity_id': fiscal_entity_id, 'month': month, 'limit': limit, 'cursor': cursor})).json())

    async def list_reports(self) -> types.ReportCatalog:
        """List the reports."""
        return cast(types.ReportCatalog, (await self._request('GET', '/v1/reports', {})).json())

    async def get_report(self, *, key: types.ReportKey, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, global_suppliers: str | None = None, limit: int | None = None, cursor: str | None = None) -> types.Report:
        """Get a report on the whole history of an RFC, or on some months of it."""
        return cast(types.Report, (await self._request('GET', f'/v1/reports/{_quoted(key)}', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'global_suppliers': global_suppliers, 'limit': limit, 'cursor': cursor})).json())

    async def get_report_csv(self, *, key: types.ReportKey, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, global_suppliers: str | None = None, limit: int | None = None, cursor: str | None = None) -> Content:
        """Get a report on the whole history of an RFC, or on some months of it, as a table in CSV."""
        return await self._request('GET', f'/v1/reports/{_quoted(key)}', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'global_suppliers': global_suppliers, 'limit': limit, 'cursor': cursor}, accept='text/csv')

    async def refresh_report(self, *, key: types.ReportKey, fiscal_entity_id: str | None = None, idempotency_key: str | None = None) -> types.ReportQueued:
        """Bring a report up to date."""
        return cast(types.ReportQueued, (await self._request('POST', f'/v1/reports/{_quoted(key)}/refresh', {'fiscal_entity_id': fiscal_entity_id}, idempotency_key=idempotency_key)).json())

    async def list_portfolio_opinions(self, *, limit: int | None = None, cursor: str | None = None, sense: types.OpinionSense | None = None) -> types.PortfolioOpinionPage:
        """List the compliance opinions of all RFCs."""
        return cast(types.PortfolioOpinionPage, (await self._request('GET', '/v1/portfolio/opinions', {'limit': limit, 'cursor': cursor, 'sense': sense})).json())

    async def list_portfolio_obligations(self, *, limit: int | None = None, cursor: str | None = None, days: int | None = None) -> types.PortfolioObligationPage:
        """List the obligations of all RFCs that are due soon."""
        return cast(types.PortfolioObligationPage, (await self._request('GET', '/v1/portfolio/obligations', {'limit': limit, 'cursor': cursor, 'days': days})).json())

    async def list_portfolio_vat(self, *, limit: int | None = None, cursor: str | None = None, month: str | None = None) -> types.PortfolioVatPage:
        """List the IVA of a month of all RFCs."""
        return cast(types.PortfolioVatPage, (await self._request('GET', '/v1/portfolio/vat', {'limit': limit, 'cursor': cursor, 'month': month})).json())

    async def list_documents(self, *, fiscal_entity_id: str, limit: int | None = None, cursor: str | None = None, data_source_key: types.ExtractorDataSourceKey | None = None, kind: types.DocumentKind | None = None, from_: str | None = None, to: str | None = None, version: types.ListDocumentsVersion | None = None) -> types.DocumentPage:
        """List tax documents, newest first."""
        return cast(types.DocumentPage, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/documents', {'limit': limit, 'cursor': cursor, 'data_source_key': data_source_key, 'kind': kind, 'from': from_, 'to': to, 'version': version})).json())

    async def get_tax_profile(self, *, fiscal_entity_id: str) -> types.TaxProfile:
        """Get what the latest tax documents say."""
        return cast(types.TaxProfile, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/tax-profile', {})).json())

    async def get_document(self, *, fiscal_entity_id: str, document_id: str) -> types.Document:
        """Get a tax document."""
        return cast(types.Document, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/documents/{_quoted(document_id)}', {})).json())

    async def read_document(self, *, fiscal_entity_id: str, document_id: str) -> Content:
        """Download a document."""
        return await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/documents/{_quoted(document_id)}/content', {})

    async def list_obligations(self, *, fiscal_entity_id: str) -> types.Obligations:
        """List the tax obligations of an RFC by period."""
        return cast(types.Obligations, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/obligations', {})).json())

    async def list_obligations_csv(self, *, fiscal_entity_id: str) -> Content:
        """List the tax obligations of an RFC by period, as a table in CSV."""
        return await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/obligations', {}, accept='text/csv')

    async def get_diot_settings(self, *, fiscal_entity_id: str) -> types.DiotSettings:
        """Get the settings of the DIOT of an RFC."""
        return cast(types.DiotSettings, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/diot-settings', {})).json())

    async def set_diot_settings(self, *, fiscal_entity_id: str, body: types.SetDiotSettingsRequest) -> types.DiotSettings:
        """Set the proportion and the use of purchases for the DIOT of an RFC."""
        return cast(types.DiotSettings, (await self._request('PUT', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/diot-settings', {}, json=body)).json())

    async def list_diot_suppliers(self, *, fiscal_entity_id: str, limit: int | None = None, cursor: str | None = None) -> types.DiotSuppliers:
        """List the suppliers with settings for the DIOT."""
        return cast(types.DiotSuppliers, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/diot-settings/suppliers', {'limit': limit, 'cursor': cursor})).json())

    async def set_diot_supplier(self, *, fiscal_entity_id: str, rfc: str, body: types.SetDiotSupplierRequest) -> types.DiotSupplier:
        """Set what CFDIs cannot tell of a supplier for the DIOT."""
        return cast(types.DiotSupplier, (await self._request('PUT', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/diot-settings/suppliers/{_quoted(rfc)}', {}, json=body)).json())

    async def delete_diot_supplier(self, *, fiscal_entity_id: str, rfc: str) -> Content:
        """Delete what is set of a supplier for the DIOT."""
        return await self._request('DELETE', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/diot-settings/suppliers/{_quoted(rfc)}', {})

    async def list_notifications(self, *, fiscal_entity_id: str, limit: int | None = None, cursor: str | None = None, status: types.NotificationStatus | None = None, kind: types.NotificationKind | None = None, since: str | None = None) -> types.NotificationPage:
        """List the notifications of the tax mailbox, latest first."""
        return cast(types.NotificationPage, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/buzon/notifications', {'limit': limit, 'cursor': cursor, 'status': status, 'kind': kind, 'since': since})).json())

    async def get_notification(self, *, fiscal_entity_id: str, notification_id: str) -> types.Notification:
        """Get a notification of the tax mailbox."""
        return cast(types.Notification, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/buzon/notifications/{_quoted(notification_id)}', {})).json())

    async def read_notification_document(self, *, fiscal_entity_id: str, notification_id: str, acknowledge_notification: bool | None = None) -> Content:
        """Download the document of a notification."""
        return await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/buzon/document', {'notification_id': notification_id, 'acknowledge_notification': acknowledge_notification})

    async def search_cfdi(self, *, fiscal_entity_id: str | None = None, limit: int | None = None, cursor: str | None = None, q: str | None = None, sort: types.SearchCfdiSort | None = None, fields: str | None = None, direction: types.Direction | None = None, estatus: types.Estatus | None = None, tipo_comprobante: str | None = None, payment_status: str | None = None, counterparty_rfc: str | None = None, emisor_rfc: str | None = None, receptor_rfc: str | None = None, uuid: str | None = None, issued_from: str | None = None, issued_to: str | None = None, metodo_pago: types.MetodoPago | None = None, forma_pago: str | None = None, uso_cfdi: str | None = None, currency: str | None = None, serie: str | None = None, folio: str | None = None, version: types.CfdiVersion | None = None, cancelled_from: str | None = None, cancelled_to: str | None = None, paid_from: str | None = None, paid_to: str | None = None, total_min: str | None = None, total_max: str | None = None, balance_min: str | None = None, overdue_days_min: int | None = None, as_of: str | None = None, blacklist: str | None = None, tipo_relacion: str | None = None, has_xml: bool | None = None, has_pdf: bool | None = None, kind: types.CfdiKind | None = None, is_substituted: bool | None = None, to_itself: bool | None = None, include: str | None = None) -> types.CfdiPage:
        """Search CFDIs."""
        return cast(types.CfdiPage, (await self._request('GET', '/v1/cfdi', {'fiscal_entity_id': fiscal_entity_id, 'limit': limit, 'cursor': cursor, 'q': q, 'sort': sort, 'fields': fields, 'direction': direction, 'estatus': estatus, 'tipo_comprobante': tipo_comprobante, 'payment_status': payment_status, 'counterparty_rfc': counterparty_rfc, 'emisor_rfc': emisor_rfc, 'receptor_rfc': receptor_rfc, 'uuid': uuid, 'issued_from': issued_from, 'issued_to': issued_to, 'metodo_pago': metodo_pago, 'forma_pago': forma_pago, 'uso_cfdi': uso_cfdi, 'currency': currency, 'serie': serie, 'folio': folio, 'version': version, 'cancelled_from': cancelled_from, 'cancelled_to': cancelled_to, 'paid_from': paid_from, 'paid_to': paid_to, 'total_min': total_min, 'total_max': total_max, 'balance_min': balance_min, 'overdue_days_min': overdue_days_min, 'as_of': as_of, 'blacklist': blacklist, 'tipo_relacion': tipo_relacion, 'has_xml': has_xml, 'has_pdf': has_pdf, 'kind': kind, 'is_substituted': is_substituted, 'to_itself': to_itself, 'include': include})).json())

    async def search_cfdi_csv(self, *, fiscal_entity_id: str | None = None, limit: int | None = None, cursor: str | None = None, q: str | None = None, sort: types.SearchCfdiSort | None = None, fields: str | None = None, direction: types.Direction | None = None, estatus: types.Estatus | None = None, tipo_comprobante: str | None = None, payment_status: str | None = None, counterparty_rfc: str | None = None, emisor_rfc: str | None = None, receptor_rfc: str | None = None, uuid: str | None = None, issued_from: str | None = None, issued_to: str | None = None, metodo_pago: types.MetodoPago | None = None, forma_pago: str | None = None, uso_cfdi: str | None = None, currency: str | None = None, serie: str | None = None, folio: str | None = None, version: types.CfdiVersion | None = None, cancelled_from: str | None = None, cancelled_to: str | None = None, paid_from: str | None = None, paid_to: str | None = None, total_min: str | None = None, total_max: str | None = None, balance_min: str | None = None, overdue_days_min: int | None = None, as_of: str | None = None, blacklist: str | None = None, tipo_relacion: str | None = None, has_xml: bool | None = None, has_pdf: bool | None = None, kind: types.CfdiKind | None = None, is_substituted: bool | None = None, to_itself: bool | None = None, include: str | None = None) -> Content:
        """Search CFDIs, as a table in CSV."""
        return await self._request('GET', '/v1/cfdi', {'fiscal_entity_id': fiscal_entity_id, 'limit': limit, 'cursor': cursor, 'q': q, 'sort': sort, 'fields': fields, 'direction': direction, 'estatus': estatus, 'tipo_comprobante': tipo_comprobante, 'payment_status': payment_status, 'counterparty_rfc': counterparty_rfc, 'emisor_rfc': emisor_rfc, 'receptor_rfc': receptor_rfc, 'uuid': uuid, 'issued_from': issued_from, 'issued_to': issued_to, 'metodo_pago': metodo_pago, 'forma_pago': forma_pago, 'uso_cfdi': uso_cfdi, 'currency': currency, 'serie': serie, 'folio': folio, 'version': version, 'cancelled_from': cancelled_from, 'cancelled_to': cancelled_to, 'paid_from': paid_from, 'paid_to': paid_to, 'total_min': total_min, 'total_max': total_max, 'balance_min': balance_min, 'overdue_days_min': overdue_days_min, 'as_of': as_of, 'blacklist': blacklist, 'tipo_relacion': tipo_relacion, 'has_xml': has_xml, 'has_pdf': has_pdf, 'kind': kind, 'is_substituted': is_substituted, 'to_itself': to_itself, 'include': include}, accept='text/csv')

    async def sum_cfdi(self, *, fiscal_entity_id: str | None = None, q: str | None = None, direction: types.Direction | None = None, estatus: types.Estatus | None = None, tipo_comprobante: str | None = None, payment_status: str | None = None, counterparty_rfc: str | None = None, emisor_rfc: str | None = None, receptor_rfc: str | None = None, uuid: str | None = None, issued_from: str | None = None, issued_to: str | None = None, metodo_pago: types.MetodoPago | None = None, forma_pago: str | None = None, uso_cfdi: str | None = None, currency: str | None = None, serie: str | None = None, folio: str | None = None, version: types.CfdiVersion | None = None, cancelled_from: str | None = None, cancelled_to: str | None = None, paid_from: str | None = None, paid_to: str | None = None, total_min: str | None = None, total_max: str | None = None, balance_min: str | None = None, overdue_days_min: int | None = None, as_of: str | None = None, blacklist: str | None = None, tipo_relacion: str | None = None, has_xml: bool | None = None, has_pdf: bool | None = None, kind: types.CfdiKind | None = None, is_substituted: bool | None = None, to_itself: bool | None = None) -> types.CfdiSums:
        """Sum what a search finds."""
        return cast(types.CfdiSums, (await self._request('GET', '/v1/cfdi/summary', {'fiscal_entity_id': fiscal_entity_id, 'q': q, 'direction': direction, 'estatus': estatus, 'tipo_comprobante': tipo_comprobante, 'payment_status': payment_status, 'counterparty_rfc': counterparty_rfc, 'emisor_rfc': emisor_rfc, 'receptor_rfc': receptor_rfc, 'uuid': uuid, 'issued_from': issued_from, 'issued_to': issued_to, 'metodo_pago': metodo_pago, 'forma_pago': forma_pago, 'uso_cfdi': uso_cfdi, 'currency': currency, 'serie': serie, 'folio': folio, 'version': version, 'cancelled_from': cancelled_from, 'cancelled_to': cancelled_to, 'paid_from': paid_from, 'paid_to': paid_to, 'total_min': total_min, 'total_max': total_max, 'balance_min': balance_min, 'overdue_days_min': overdue_days_min, 'as_of': as_of, 'blacklist': blacklist, 'tipo_relacion': tipo_relacion, 'has_xml': has_xml, 'has_pdf': has_pdf, 'kind': kind, 'is_substituted': is_substituted, 'to_itself': to_itself})).json())

    async def sum_cfdi_csv(self, *, fiscal_entity_id: str | None = None, q: str | None = None, direction: types.Direction | None = None, estatus: types.Estatus | None = None, tipo_comprobante: str | None = None, payment_status: str | None = None, counterparty_rfc: str | None = None, emisor_rfc: str | None = None, receptor_rfc: str | None = None, uuid: str | None = None, issued_from: str | None = None, issued_to: str | None = None, metodo_pago: types.MetodoPago | None = None, forma_pago: str | None = None, uso_cfdi: str | None = None, currency: str | None = None, serie: str | None = None, folio: str | None = None, version: types.CfdiVersion | None = None, cancelled_from: str | None = None, cancelled_to: str | None = None, paid_from: str | None = None, paid_to: str | None = None, total_min: str | None = None, total_max: str | None = None, balance_min: str | None = None, overdue_days_min: int | None = None, as_of: str | None = None, blacklist: str | None = None, tipo_relacion: str | None = None, has_xml: bool | None = None, has_pdf: bool | None = None, kind: types.CfdiKind | None = None, is_substituted: bool | None = None, to_itself: bool | None = None) -> Content:
        """Sum what a search finds, as a table in CSV."""
        return await self._request('GET', '/v1/cfdi/summary', {'fiscal_entity_id': fiscal_entity_id, 'q': q, 'direction': direction, 'estatus': estatus, 'tipo_comprobante': tipo_comprobante, 'payment_status': payment_status, 'counterparty_rfc': counterparty_rfc, 'emisor_rfc': emisor_rfc, 'receptor_rfc': receptor_rfc, 'uuid': uuid, 'issued_from': issued_from, 'issued_to': issued_to, 'metodo_pago': metodo_pago, 'forma_pago': forma_pago, 'uso_cfdi': uso_cfdi, 'currency': currency, 'serie': serie, 'folio': folio, 'version': version, 'cancelled_from': cancelled_from, 'cancelled_to': cancelled_to, 'paid_from': paid_from, 'paid_to': paid_to, 'total_min': total_min, 'total_max': total_max, 'balance_min': balance_min, 'overdue_days_min': overdue_days_min, 'as_of': as_of, 'blacklist': blacklist, 'tipo_relacion': tipo_relacion, 'has_xml': has_xml, 'has_pdf': has_pdf, 'kind': kind, 'is_substituted': is_substituted, 'to_itself': to_itself}, accept='text/csv')

    async def summarize_cfdi_months(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, direction: types.Direction | None = None) -> types.CfdiMonthlySummary:
        """Sum CFDIs by month."""
        return cast(types.CfdiMonthlySummary, (await self._request('GET', '/v1/cfdi/summary/monthly', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction})).json())

    async def summarize_cfdi_months_csv(self, *, fiscal_entity_id: str | None = None, from_: str | None = None, to: str | None = None, direction: types.Direction | None = None) -> Content:
        """Sum CFDIs by month, as a table in CSV."""
        return await self._request('GET', '/v1/cfdi/summary/monthly', {'fiscal_entity_id': fiscal_entity_id, 'from': from_, 'to': to, 'direction': direction}, accept='text/csv')

    async def get_cfdi(self, *, uuid: str, fiscal_entity_id: str | None = None, as_of: str | None = None) -> types.CfdiDetail:
        """Get a CFDI with its lines, taxes and complements."""
        return cast(types.CfdiDetail, (await self._request('GET', f'/v1/cfdi/{_quoted(uuid)}', {'fiscal_entity_id': fiscal_entity_id, 'as_of': as_of})).json())

    async def get_cfdi_pdf(self, *, uuid: str, fiscal_entity_id: str | None = None, language: types.MailPreferencesLanguage | None = None, as_of: str | None = None) -> Content:
        """Get a CFDI as a PDF."""
        return await self._request('GET', f'/v1/cfdi/{_quoted(uuid)}/pdf', {'fiscal_entity_id': fiscal_entity_id, 'language': language, 'as_of': as_of})

    async def list_cfdi_payments(self, *, uuid: str, fiscal_entity_id: str | None = None) -> types.CfdiPayments:
        """List the payments and credit notes of an invoice."""
        return cast(types.CfdiPayments, (await self._request('GET', f'/v1/cfdi/{_quoted(uuid)}/payments', {'fiscal_entity_id': fiscal_entity_id})).json())

    async def get_cfdi_xml(self, *, uuid: str, fiscal_entity_id: str | None = None) -> Content:
        """Get the XML of a CFDI."""
        return await self._request('GET', f'/v1/cfdi/{_quoted(uuid)}/xml', {'fiscal_entity_id': fiscal_entity_id})

    async def list_cfdi_relations(self, *, uuid: str, fiscal_entity_id: str | None = None, limit: int | None = None, cursor: str | None = None) -> types.CfdiRelations:
        """List the documents that a CFDI names, and those that name it."""
        return cast(types.CfdiRelations, (await self._request('GET', f'/v1/cfdi/{_quoted(uuid)}/relations', {'fiscal_entity_id': fiscal_entity_id, 'limit': limit, 'cursor': cursor})).json())

    async def get_cfdi_history(self, *, uuid: str, fiscal_entity_id: str | None = None) -> types.CfdiHistory:
        """Get the history of a CFDI."""
        return cast(types.CfdiHistory, (await self._request('GET', f'/v1/cfdi/{_quoted(uuid)}/history', {'fiscal_entity_id': fiscal_entity_id})).json())

    async def check_cfdi_status(self, *, uuid: str, fiscal_entity_id: str | None = None, idempotency_key: str | None = None) -> types.Cfdi:
        """Ask the authority for the status of a CFDI."""
        return cast(types.Cfdi, (await self._request('POST', f'/v1/cfdi/{_quoted(uuid)}/status-check', {'fiscal_entity_id': fiscal_entity_id}, idempotency_key=idempotency_key)).json())

    async def list_cancellation_requests(self, *, fiscal_entity_id: str | None = None, limit: int | None = None, cursor: str | None = None, direction: types.Direction | None = None, status: types.CancellationRequestStatus | None = None) -> types.CancellationRequestPage:
        """List the requests to cancel CFDIs, the latest first."""
        return cast(types.CancellationRequestPage, (await self._request('GET', '/v1/cancellation-requests', {'fiscal_entity_id': fiscal_entity_id, 'limit': limit, 'cursor': cursor, 'direction': direction, 'status': status})).json())

    async def get_cancellation_request(self, *, uuid: str, fiscal_entity_id: str | None = None) -> types.CancellationRequestDetail:
        """Get the request to cancel a CFDI."""
        return cast(types.CancellationRequestDetail, (await self._request('GET', f'/v1/cancellation-requests/{_quoted(uuid)}', {'fiscal_entity_id': fiscal_entity_id})).json())

    async def answer_cancellation_request(self, *, uuid: str, body: types.CancellationAnswer, fiscal_entity_id: str | None = None, idempotency_key: str | None = None) -> types.CancellationRequestDetail:
        """Accept or reject the request to cancel a CFDI."""
        return cast(types.CancellationRequestDetail, (await self._request('POST', f'/v1/cancellation-requests/{_quoted(uuid)}/answer', {'fiscal_entity_id': fiscal_entity_id}, json=body, idempotency_key=idempotency_key)).json())

    async def list_alerts(self, *, limit: int | None = None, cursor: str | None = None, kind: types.AlertKind | None = None, severity: types.AlertSeverity | None = None, resource_id: str | None = None, fiscal_entity_id: str | None = None, rfc: str | None = None, state: types.ListAlertsState | None = None, sort: types.ListAlertsSort | None = None, is_read: bool | None = None) -> types.AlertPage:
        """List the alerts, newest first or by weight."""
        return cast(types.AlertPage, (await self._request('GET', '/v1/alerts', {'limit': limit, 'cursor': cursor, 'kind': kind, 'severity': severity, 'resource_id': resource_id, 'fiscal_entity_id': fiscal_entity_id, 'rfc': rfc, 'state': state, 'sort': sort, 'is_read': is_read})).json())

    async def read_alerts(self, *, kind: types.AlertKind | None = None, severity: types.AlertSeverity | None = None, resource_id: str | None = None, fiscal_entity_id: str | None = None, rfc: str | None = None, state: types.ListAlertsState | None = None, idempotency_key: str | None = None) -> types.AlertsRead:
        """Mark alerts as read."""
        return cast(types.AlertsRead, (await self._request('POST', '/v1/alerts/read', {'kind': kind, 'severity': severity, 'resource_id': resource_id, 'fiscal_entity_id': fiscal_entity_id, 'rfc': rfc, 'state': state}, idempotency_key=idempotency_key)).json())

    async def read_alert(self, *, alert_id: str, idempotency_key: str | None = None) -> types.Alert:
        """Mark an alert as read."""
        return cast(types.Alert, (await self._request('POST', f'/v1/alerts/{_quoted(alert_id)}/read', {}, idempotency_key=idempotency_key)).json())

    async def get_event_catalog(self) -> types.EventCatalog:
        """List the events that a webhook can subscribe to."""
        return cast(types.EventCatalog, (await self._request('GET', '/v1/webhooks/event-catalog', {})).json())

    async def list_webhooks(self, *, limit: int | None = None, cursor: str | None = None) -> types.WebhookPage:
        """List the webhooks, oldest first."""
        return cast(types.WebhookPage, (await self._request('GET', '/v1/webhooks', {'limit': limit, 'cursor': cursor})).json())

    async def create_webhook(self, *, body: types.WebhookDraft, idempotency_key: str | None = None) -> types.NewWebhook:
        """Create a webhook."""
        return cast(types.NewWebhook, (await self._request('POST', '/v1/webhooks', {}, json=body, idempotency_key=idempotency_key)).json())

    async def get_webhook(self, *, webhook_id: str) -> types.Webhook:
        """Get a webhook."""
        return cast(types.Webhook, (await self._request('GET', f'/v1/webhooks/{_quoted(webhook_id)}', {})).json())

    async def update_webhook(self, *, webhook_id: str, body: types.WebhookChanges) -> types.Webhook:
        """Update a webhook."""
        return cast(types.Webhook, (await self._request('PATCH', f'/v1/webhooks/{_quoted(webhook_id)}', {}, json=body)).json())

    async def delete_webhook(self, *, webhook_id: str) -> Content:
        """Delete a webhook."""
        return await self._request('DELETE', f'/v1/webhooks/{_quoted(webhook_id)}', {})

    async def rotate_secret(self, *, webhook_id: str, idempotency_key: str | None = None) -> types.RotatedSecret:
        """Create the next signing secret."""
        return cast(types.RotatedSecret, (await self._request('POST', f'/v1/webhooks/{_quoted(webhook_id)}/rotate-secret', {}, idempotency_key=idempotency_key)).json())

    async def commit_secret(self, *, webhook_id: str, idempotency_key: str | None = None) -> types.Webhook:
        """Start signing with the next secret."""
        return cast(types.Webhook, (await self._request('POST', f'/v1/webhooks/{_quoted(webhook_id)}/rotate-secret/commit', {}, idempotency_key=idempotency_key)).json())

    async def test_webhook(self, *, webhook_id: str, body: types.WebhookTest | None = None, idempotency_key: str | None = None) -> types.WebhookDelivery:
        """Send a test event."""
        return cast(types.WebhookDelivery, (await self._request('POST', f'/v1/webhooks/{_quoted(webhook_id)}/test', {}, json=body, idempotency_key=idempotency_key)).json())

    async def list_deliveries(self, *, webhook_id: str, limit: int | None = None, cursor: str | None = None, status: types.DeliveryStatus | None = None, event_key: types.ListDeliveriesEventKey | None = None) -> types.WebhookDeliveryPage:
        """List the deliveries of a webhook, newest event first."""
        return cast(types.WebhookDeliveryPage, (await self._request('GET', f'/v1/webhooks/{_quoted(webhook_id)}/deliveries', {'limit': limit, 'cursor': cursor, 'status': status, 'event_key': event_key})).json())

    async def redeliver_all(self, *, webhook_id: str, body: types.RedeliveryRequest, idempotency_key: str | None = None) -> types.Redelivered:
        """Send all lost, failed or waiting events again."""
        return cast(types.Redelivered, (await self._request('POST', f'/v1/webhooks/{_quoted(webhook_id)}/deliveries/redeliver', {}, json=body, idempotency_key=idempotency_key)).json())

    async def redeliver(self, *, webhook_id: str, event_id: str, idempotency_key: str | None = None) -> types.WebhookDelivery:
        """Redeliver an event."""
        return cast(types.WebhookDelivery, (await self._request('POST', f'/v1/webhooks/{_quoted(webhook_id)}/deliveries/{_quoted(event_id)}/redeliver', {}, idempotency_key=idempotency_key)).json())

    async def send_delivery_now(self, *, webhook_id: str, event_id: str, idempotency_key: str | None = None) -> types.WebhookDelivery:
        """Send a waiting delivery now."""
        return cast(types.WebhookDelivery, (await self._request('POST', f'/v1/webhooks/{_quoted(webhook_id)}/deliveries/{_quoted(event_id)}/send-now', {}, idempotency_key=idempotency_key)).json())

    async def list_events(self, *, limit: int | None = None, cursor: str | None = None, event_key: types.ListDeliveriesEventKey | None = None, since: str | None = None, fiscal_entity_id: str | None = None) -> types.EventPage:
        """List the events of the organization, oldest first."""
        return cast(types.EventPage, (await self._request('GET', '/v1/events', {'limit': limit, 'cursor': cursor, 'event_key': event_key, 'since': since, 'fiscal_entity_id': fiscal_entity_id})).json())

    async def get_event(self, *, event_id: str) -> types.Event:
        """Get an event."""
        return cast(types.Event, (await self._request('GET', f'/v1/events/{_quoted(event_id)}', {})).json())

    async def report_repse_suppliers(self, *, fiscal_entity_id: str | None = None, months: int | None = None, limit: int | None = None, blacklist: str | None = None) -> types.RepseSupplierReport:
        """Compare suppliers with REPSE."""
        return cast(types.RepseSupplierReport, (await self._request('GET', '/v1/cfdi/repse-suppliers', {'fiscal_entity_id': fiscal_entity_id, 'months': months, 'limit': limit, 'blacklist': blacklist})).json())

    async def get_repse(self, *, fiscal_entity_id: str) -> types.RepseStatus:
        """Get the REPSE status of an RFC."""
        return cast(types.RepseStatus, (await self._request('GET', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/repse', {})).json())

    async def refresh_repse(self, *, fiscal_entity_id: str, idempotency_key: str | None = None) -> types.RepseQueued:
        """Refresh the REPSE status of an RFC."""
        return cast(types.RepseQueued, (await self._request('POST', f'/v1/fiscal-entities/{_quoted(fiscal_entity_id)}/repse/refresh', {}, idempotency_key=idempotency_key)).json())

    async def list_custom_blacklists(self) -> types.CustomBlacklists:
        """List your own blacklists."""
        return cast(types.CustomBlacklists, (await self._request('GET', '/v1/blacklists/custom', {})).json())

    async def create_custom_blacklist(self, *, body: types.CustomBlacklistDraft, idempotency_key: str | None = None) -> types.CustomBlacklist:
        """Create a blacklist of your own."""
        return cast(types.CustomBlacklist, (await self._request('POST', '/v1/blacklists/custom', {}, json=body, idempotency_key=idempotency_key)).json())

    async def replace_custom_blacklist(self, *, slug: str, body: bytes, content_type: str = 'application/json') -> types.CustomBlacklist:
        """Replace the content of a blacklist of your own."""
        return cast(types.CustomBlacklist, (await self._request('PUT', f'/v1/blacklists/custom/{_quoted(slug)}', {}, content=body, content_type=content_type)).json())

    async def delete_custom_blacklist(self, *, slug: str) -> Content:
        """Delete a blacklist of your own."""
        return await self._request('DELETE', f'/v1/blacklists/custom/{_quoted(slug)}', {})

    async def list_portfolio_listed(self, *, limit: int | None = None, cursor: str | None = None, since: str | None = None) -> types.ListPortfolioListedAnswer:
        """List the suppliers and customers of all RFCs that a list newly names, oldest first."""
        return cast(types.ListPortfolioListedAnswer, (await self._request('GET', '/v1/portfolio/listed', {'limit': limit, 'cursor': cursor, 'since': since})).json())

    async def look_up_blacklists(self, *, rfc: str, as_of: str | None = None) -> types.BlacklistLookup:
        """Look an RFC up on blacklists."""
        return cast(types.BlacklistLookup, (await self._request('GET', '/v1/blacklists/lookup', {'rfc': rfc, 'as_of': as_of})).json())

    async def look_up_blacklists_batch(self, *, body: types.BlacklistLookupBatch, idempotency_key: str | None = None) -> types.BlacklistBatch:
        """Look up to 500 RFCs up on blacklists."""
        return cast(types.BlacklistBatch, (await self._request('POST', '/v1/blacklists/lookup', {}, json=body, idempotency_key=idempotency_key)).json())

    async def watch_blacklists(self, *, limit: int | None = None, cursor: str | None = None, since: str | None = None) -> types.ListPortfolioListedAnswer:
        """List what changed on blacklists about your counterparties, oldest first."""
        return cast(types.ListPortfolioListedAnswer, (await self._request('GET', '/v1/blacklists/watch', {'limit': limit, 'cursor': cursor, 'since': since})).json())

    async def get_organization(self) -> types.Organization:
        """Get the organization."""
        return cast(types.Organization, (await self._request('GET', '/v1/organization', {})).json())

    async def update_organization(self, *, body: types.OrganizationChanges) -> types.Organization:
        """Update the organization."""
        return cast(types.Organization, (await self._request('PATCH', '/v1/organization', {}, json=body)).json())

    async def list_members(self, *, limit: int | None = None, cursor: str | None = None) -> types.MemberPage:
        """List the active members, in the order in which they joined."""
        return cast(types.MemberPage, (await self._request('GET', '/v1/team/members', {'limit': limit, 'cursor': cursor})).json())

    async def invite_member(self, *, body: types.InvitationDraft, idempotency_key: str | None = None) -> types.NewInvitation:
        """Invite a person."""
        return cast(types.NewInvitation, (await self._request('POST', '/v1/team/members/invite', {}, json=body, idempotency_key=idempotency_key)).json())

    async def update_member(self, *, member_id: str, body: types.MemberChanges) -> types.Member:
        """Update a member."""
        return cast(types.Member, (await self._request('PATCH', f'/v1/team/members/{_quoted(member_id)}', {}, json=body)).json())

    async def remove_member(self, *, member_id: str, keep_credentials: bool | None = None) -> types.MemberRemoval:
        """Remove a member."""
        return cast(types.MemberRemoval, (await self._request('DELETE', f'/v1/team/members/{_quoted(member_id)}', {'keep_credentials': keep_credentials})).json())

    async def get_mail_preferences(self) -> types.MailPreferences:
        """Get which mails you get."""
        return cast(types.MailPreferences, (await self._request('GET', '/v1/team/mail-preferences', {})).json())

    async def update_mail_preferences(self, *, body: types.MailPreferenceChanges) -> types.MailPreferences:
        """Choose which mails you get."""
        return cast(types.MailPreferences, (await self._request('PATCH', '/v1/team/mail-preferences', {}, json=body)).json())

    async def list_invitations(self, *, limit: int | None = None, cursor: str | None = None) -> types.InvitationPage:
        """List the pending invitations, oldest first."""
        return cast(types.InvitationPage, (await self._request('GET', '/v1/team/invitations', {'limit': limit, 'cursor': cursor})).json())

    async def withdraw_invitation(self, *, invitation_id: str) -> Content:
        """Withdraw an invitation."""
        return await self._request('DELETE', f'/v1/team/invitations/{_quoted(invitation_id)}', {})

    async def list_credentials(self, *, limit: int | None = None, cursor: str | None = None) -> types.CredentialPage:
        """List the credentials that are not revoked, oldest first."""
        return cast(types.CredentialPage, (await self._request('GET', '/v1/credentials', {'limit': limit, 'cursor': cursor})).json())

    async def create_credential(self, *, body: types.CredentialDraft, idempotency_key: str | None = None) -> types.NewCredential:
        """Create a credential."""
        return cast(types.NewCredential, (await self._request('POST', '/v1/credentials', {}, json=body, idempotency_key=idempotency_key)).json())

    async def roll_credential(self, *, api_key: str, body: types.CredentialRoll, idempotency_key: str | None = None) -> types.NewCredential:
        """Give a credential another secret."""
        return cast(types.NewCredential, (await self._request('POST', f'/v1/credentials/{_quoted(api_key)}/roll', {}, json=body, idempotency_key=idempotency_key)).json())

    async def get_organization_stats(self) -> types.OrganizationStats:
        """Count members and active connections."""
        return cast(types.OrganizationStats, (await self._request('GET', '/v1/organization/stats', {})).json())

    async def revoke_credential(self, *, api_key: str) -> Content:
        """Revoke a credential."""
        return await self._request('DELETE', f'/v1/credentials/{_quoted(api_key)}', {})

    async def list_audit_events(self, *, limit: int | None = None, cursor: str | None = None, resource_id: str | None = None, action: str | None = None, actor: str | None = None, since: str | None = None, until: str | None = None) -> types.AuditEventPage:
        """List the changes that were made to resources, newest first."""
        return cast(types.AuditEventPage, (await self._request('GET', '/v1/audit-events', {'limit': limit, 'cursor': cursor, 'resource_id': resource_id, 'action': action, 'actor': actor, 'since': since, 'until': until})).json())

    async def get_billing(self) -> types.Billing:
        """Get the subscription status and the amount due."""
        return cast(types.Billing, (await self._request('GET', '/v1/billing', {})).json())

    async def get_billing_plan(self) -> types.BillingPlan:
        """Get the plan with its limits, seats and prices."""
        return cast(types.BillingPlan, (await self._request('GET', '/v1/billing/plan', {})).json())

    async def list_billing_plans(self) -> types.OfferedPlanPage:
        """List all plans with their prices."""
        return cast(types.OfferedPlanPage, (await self._request('GET', '/v1/billing/plans', {})).json())

    async def get_billing_usage(self) -> types.BillingUsage:
        """Get the current usage of the plan."""
        return cast(types.BillingUsage, (await self._request('GET', '/v1/billing/usage', {})).json())

    async def list_invoices(self, *, limit: int | None = None, cursor: str | None = None) -> types.InvoicePage:
        """List the invoices, newest first."""
        return cast(types.InvoicePage, (await self._request('GET', '/v1/billing/invoices', {'limit': limit, 'cursor': cursor})).json())

    async def receive_stripe_event(self, *, body: bytes, content_type: str = 'application/json', idempotency_key: str | None = None) -> types.ReceiveStripeEventAnswer:
        """Receive a Stripe event."""
        return cast(types.ReceiveStripeEventAnswer, (await self._request('POST', '/v1/billing/stripe/webhook', {}, content=body, content_type=content_type, idempotency_key=idempotency_key)).json())

    async def list_billing_rfcs(self, *, limit: int | None = None, cursor: str | None = None) -> types.BillingRfcPage:
        """List the RFCs with their seats."""
        return cast(types.BillingRfcPage, (await self._request('GET', '/v1/billing/rfcs', {'limit': limit, 'cursor': cursor})).json())

    async def change_billing_rfc(self, *, fiscal_entity_id: str, body: types.BillingRfcChanges) -> types.BillingRfc:
        """Pause or resume an RFC."""
        return cast(types.BillingRfc, (await self._request('PATCH', f'/v1/billing/rfcs/{_quoted(fiscal_entity_id)}', {}, json=body)).json())

    async def get_clock(self) -> types.ServiceClock:
        """Read the service’s clock."""
        return cast(types.ServiceClock, (await self._request('GET', '/v1/test-helpers/clock', {})).json())

    async def move_clock(self, *, body: types.ClockMove, idempotency_key: str | None = None) -> types.ServiceClock:
        """Move the service’s clock forward."""
        return cast(types.ServiceClock, (await self._request('POST', '/v1/test-helpers/clock', {}, json=body, idempotency_key=idempotency_key)).json())

    async def arrange_organization(self, *, body: types.OrganizationScenario, idempotency_key: str | None = None) -> types.ScenarioOrganization:
        """Set the organization’s plan, seats or end of trial."""
        return cast(types.ScenarioOrganization, (await self._request('POST', '/v1/test-helpers/organization', {}, json=body, idempotency_key=idempotency_key)).json())

    async def cancel_at_authority(self, *, uuid: str, body: types.CancellationScenario, idempotency_key: str | None = None) -> types.Accepted:
        """Make the sandbox authority report a CFDI as cancelled."""
        return cast(types.Accepted, (await self._request('POST', f'/v1/test-helpers/cfdi/{_quoted(uuid)}/cancel', {}, json=body, idempotency_key=idempotency_key)).json())

    async def expire_ciec(self, *, fiscal_entity_id: str, idempotency_key: str | None = None) -> types.Accepted:
        """Make the sandbox authority reject the stored CIEC."""
        return cast(types.Accepted, (await self._request('POST', f'/v1/test-helpers/fiscal-entities/{_quoted(fiscal_entity_id)}/expire-ciec', {}, idempotency_key=idempotency_key)).json())

    async def expire_efirma(self, *, fiscal_entity_id: str, idempotency_key: str | None = None) -> types.Accepted:
        """Make the sandbox authority refuse the stored e.firma."""
        return cast(types.Accepted, (await self._request('POST', f'/v1/test-helpers/fiscal-entities/{_quoted(fiscal_entity_id)}/expire-efirma', {}, idempotency_key=idempotency_key)).json())

    async def fail_sync_job(self, *, job_id: str, body: types.JobFailureScenario, idempotency_key: str | None = None) -> types.Accepted:
        """Make a download job fail."""
        return cast(types.Accepted, (await self._request('POST', f'/v1/test-helpers/sync-jobs/{_quoted(job_id)}/fail', {}, json=body, idempotency_key=idempotency_key)).json())

    async def publish_at_registry(self, *, body: types.RepseScenario, idempotency_key: str | None = None) -> types.Accepted:
        """Set the record of an RFC in the sandbox REPSE registry."""
        return cast(types.Accepted, (await self._request('POST', '/v1/test-helpers/repse', {}, json=body, idempotency_key=idempotency_key)).json())

    async def publish_on_blacklist(self, *, body: types.BlacklistScenario, idempotency_key: str | None = None) -> types.Accepted:
        """Put an RFC on a public blacklist of the sandbox."""
        return cast(types.Accepted, (await self._request('POST', '/v1/test-helpers/blacklists', {}, json=body, idempotency_key=idempotency_key)).json())

    async def send_to_mailbox(self, *, body: types.MailboxScenario, idempotency_key: str | None = None) -> types.Accepted:
        """Make the sandbox authority send a notification to the tax mailbox of an RFC."""
        return cast(types.Accepted, (await self._request('POST', '/v1/test-helpers/mailbox', {}, json=body, idempotency_key=idempotency_key)).json())

    async def arrange_invoice(self, *, body: types.InvoiceScenario, idempotency_key: str | None = None) -> types.Invoice:
        """Add an open invoice."""
        return cast(types.Invoice, (await self._request('POST', '/v1/test-helpers/invoices', {}, json=body, idempotency_key=idempotency_key)).json())

    async def arrange_payment(self, *, invoice_id: str, idempotency_key: str | None = None) -> types.Invoice:
        """Pay an invoice."""
        return cast(types.Invoice, (await self._request('POST', f'/v1/test-helpers/invoices/{_quoted(invoice_id)}/pay', {}, idempotency_key=idempotency_key)).json())
