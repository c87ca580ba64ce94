CREATE TABLE `clock` (
	`one` integer PRIMARY KEY NOT NULL,
	`ahead` integer NOT NULL,
	`target` integer,
	`began_at` integer NOT NULL,
	`ends_at` integer NOT NULL,
	`entries` text DEFAULT '[]' NOT NULL,
	`token` text,
	`lease_until` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE `ciec_attempts` (
	`attempt_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`rfc` text NOT NULL,
	`kind` text DEFAULT 'ciec' NOT NULL,
	`is_stranger` integer NOT NULL,
	`network` text NOT NULL,
	`state` text NOT NULL,
	`attempted_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `ciec_attempts_rfc` ON `ciec_attempts` (`rfc`,`attempted_at`);--> statement-breakpoint
CREATE TABLE `connections` (
	`connection` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`organization_id` text NOT NULL,
	`fiscal_entity_id` text NOT NULL,
	`entity` integer NOT NULL,
	`rfc` text NOT NULL,
	`shard` integer NOT NULL,
	`state` text NOT NULL,
	`name` text,
	`external_id` text,
	`metadata` text DEFAULT '{}' NOT NULL,
	`data_source_keys` text,
	`ciec` text,
	`ciec_accepted_at` integer,
	`ciec_verified_at` integer,
	`ciec_verify_at` integer,
	`ciec_verify_attempts` integer DEFAULT 0 NOT NULL,
	`efirma` text,
	`efirma_number` text,
	`efirma_valid_from` integer,
	`efirma_valid_to` integer,
	`efirma_accepted_at` integer,
	`efirma_verified_at` integer,
	`efirma_verify_at` integer,
	`efirma_verify_attempts` integer DEFAULT 0 NOT NULL,
	`invalid_reason` text,
	`first_active_at` integer,
	`active_since` integer,
	`paused_from` text,
	`paused_by` text,
	`issued_from` text,
	`issued_to` integer,
	`received_from` text,
	`received_to` integer,
	`issued_granted_ranges` text DEFAULT '[]' NOT NULL,
	`received_granted_ranges` text DEFAULT '[]' NOT NULL,
	`asked_ranges` text DEFAULT '[]' NOT NULL,
	`issued_revoked` text,
	`received_revoked` text,
	`access_from` text,
	`widened_at` integer,
	`widened_before` integer,
	`imported_at` integer,
	`unnotified` text,
	`listed` text,
	`listed_version` integer DEFAULT 0 NOT NULL,
	`linked_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `connections_organization` ON `connections` (`organization_id`,`fiscal_entity_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `connections_rfc` ON `connections` (`organization_id`,`entity`);--> statement-breakpoint
CREATE UNIQUE INDEX `connections_external_id` ON `connections` (`organization_id`,`external_id`) WHERE external_id is not null;--> statement-breakpoint
CREATE INDEX `connections_entity` ON `connections` (`entity`,`connection`,`state`);--> statement-breakpoint
CREATE INDEX `connections_unnotified` ON `connections` (`connection`) WHERE unnotified is not null and state = 'active';--> statement-breakpoint
CREATE INDEX `connections_drafts` ON `connections` (`organization_id`,`state`,`paused_from`) WHERE state = 'draft' or (state = 'paused' and paused_from = 'draft');--> statement-breakpoint
CREATE INDEX `connections_unverified` ON `connections` (`entity`,`ciec_verify_at`) WHERE ciec_verify_at is not null;--> statement-breakpoint
CREATE INDEX `connections_efirmas_unverified` ON `connections` (`entity`,`efirma_verify_at`) WHERE efirma_verify_at is not null;--> statement-breakpoint
CREATE INDEX `connections_efirmas_ending` ON `connections` (`efirma_valid_to`) WHERE efirma_valid_to is not null and state = 'active';--> statement-breakpoint
CREATE TABLE `fiscal_entities` (
	`entity` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`rfc` text NOT NULL,
	`shard` integer NOT NULL,
	`ciec_version` integer DEFAULT 0 NOT NULL,
	`efirma_version` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `fiscal_entities_rfc` ON `fiscal_entities` (`rfc`);--> statement-breakpoint
CREATE TABLE `fx_rates` (
	`currency` text NOT NULL,
	`date` text NOT NULL,
	`rate` text NOT NULL,
	`source` text NOT NULL,
	PRIMARY KEY(`currency`, `date`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `product_keys` (
	`key` text PRIMARY KEY NOT NULL,
	`label` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `rules` (
	`key` text NOT NULL,
	`valid_from` text NOT NULL,
	`valid_to` text,
	`value` text NOT NULL,
	`rule_ref` text NOT NULL,
	`source` text NOT NULL,
	`confidence` text NOT NULL,
	PRIMARY KEY(`key`, `valid_from`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `repse_records` (
	`rfc` text PRIMARY KEY NOT NULL,
	`name` text,
	`checked_at` integer,
	`is_registered` integer,
	`folio` text,
	`razon_social` text,
	`entidad` text,
	`municipio` text,
	`num_aviso` text,
	`fecha_aviso` text,
	`vigencia_hasta` text,
	`actividades` text,
	`due_at` integer,
	`token` text,
	`attempts` integer NOT NULL,
	`asked_day` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `repse_records_due` ON `repse_records` (`due_at`) WHERE due_at is not null;--> statement-breakpoint
CREATE TABLE `repse_rounds` (
	`day` text PRIMARY KEY NOT NULL,
	`instant` integer NOT NULL,
	`after` integer NOT NULL,
	`is_done` integer NOT NULL,
	`moved_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sandbox_repse_records` (
	`rfc` text PRIMARY KEY NOT NULL,
	`record` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `dead_letters` (
	`dead_letter_id` text PRIMARY KEY NOT NULL,
	`queue` text NOT NULL,
	`body` text NOT NULL,
	`reason` text NOT NULL,
	`created_at` integer NOT NULL,
	`wanted` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `dead_letters_wanted` ON `dead_letters` (`dead_letter_id`) WHERE wanted is not null;--> statement-breakpoint
CREATE TABLE `mails` (
	`mail_id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`organization_id` text,
	`member_id` text,
	`about` text,
	`email` text NOT NULL,
	`address` text NOT NULL,
	`network` text NOT NULL,
	`digest` text,
	`expires_at` integer,
	`sent_at` integer,
	`attempts` integer DEFAULT 0 NOT NULL,
	`token` text,
	`lease_until` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `mails_digest` ON `mails` (`digest`) WHERE digest is not null;--> statement-breakpoint
CREATE INDEX `mails_address` ON `mails` (`address`,`created_at`);--> statement-breakpoint
CREATE INDEX `mails_organization` ON `mails` (`organization_id`,`kind`,`created_at`) WHERE organization_id is not null;--> statement-breakpoint
CREATE INDEX `mails_unsent` ON `mails` (`lease_until`) WHERE sent_at is null;--> statement-breakpoint
CREATE TABLE `kept_mails` (
	`mail_id` text PRIMARY KEY NOT NULL,
	`to` text NOT NULL,
	`subject` text NOT NULL,
	`text` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `kept_mails_created` ON `kept_mails` (`created_at`);--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`organization_id` text NOT NULL,
	`key` text NOT NULL,
	`fingerprint` text NOT NULL,
	`token` text NOT NULL,
	`lease_until` integer NOT NULL,
	`state` text NOT NULL,
	`resource_id` text,
	`answer` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `key`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `idempotency_keys_created` ON `idempotency_keys` (`created_at`);--> statement-breakpoint
CREATE TABLE `kept_answers` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`day` text NOT NULL,
	`bytes` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `guards` (
	`name` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `audit_events` (
	`audit_event_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`actor` text NOT NULL,
	`action` text NOT NULL,
	`resource_id` text NOT NULL,
	`changed` text NOT NULL,
	`request_id` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `audit_events_organization` ON `audit_events` (`organization_id`,`audit_event_id`);--> statement-breakpoint
CREATE TABLE `quota_warnings` (
	`organization_id` text NOT NULL,
	`quota` text NOT NULL,
	`period` text NOT NULL,
	`used` integer NOT NULL,
	`most` integer NOT NULL,
	`marked_at` integer NOT NULL,
	`notified` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`organization_id`, `quota`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `quota_warnings_unnotified` ON `quota_warnings` (`organization_id`,`quota`) WHERE notified = 0;--> statement-breakpoint
CREATE TABLE `outbox` (
	`entity` integer NOT NULL,
	`outbox_event_id` text NOT NULL,
	`kind` text NOT NULL,
	`organizations` text,
	`body` text NOT NULL,
	`created_at` integer NOT NULL,
	`progress` integer DEFAULT 0 NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`retry_at` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`entity`, `outbox_event_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `outbox_quarantined` (
	`entity` integer NOT NULL,
	`outbox_event_id` text NOT NULL,
	`kind` text NOT NULL,
	`organizations` text,
	`body` text NOT NULL,
	`created_at` integer NOT NULL,
	`progress` integer NOT NULL,
	PRIMARY KEY(`entity`, `outbox_event_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `mailbox_requests` (
	`organization_id` text NOT NULL,
	`entity` integer NOT NULL,
	`sent_at` integer NOT NULL,
	`notification` text NOT NULL,
	`shard` integer NOT NULL,
	`notification_id` text NOT NULL,
	`acknowledged_by` text,
	`attempts` integer NOT NULL,
	`not_before` integer NOT NULL,
	`token` text,
	`lease_until` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `entity`, `sent_at`, `notification`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `mailbox_requests_due` ON `mailbox_requests` (`not_before`);--> statement-breakpoint
CREATE TABLE `import_totals` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`bytes` integer NOT NULL,
	`documents` integer NOT NULL,
	`day` text NOT NULL,
	`day_bytes` integer NOT NULL,
	`day_documents` integer NOT NULL,
	`last_turn` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `import_usage` (
	`import_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`shard` integer NOT NULL,
	`bytes` integer NOT NULL,
	`documents` integer NOT NULL,
	`counted_bytes` integer NOT NULL,
	`counted` integer NOT NULL,
	`is_open` integer NOT NULL,
	`turn_until` integer NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `import_usage_open` ON `import_usage` (`created_at`) WHERE is_open = 1;--> statement-breakpoint
CREATE INDEX `import_usage_turns` ON `import_usage` (`organization_id`,`created_at`) WHERE is_open = 1;--> statement-breakpoint
CREATE TABLE `diot_settings` (
	`organization_id` text NOT NULL,
	`fiscal_entity_id` text NOT NULL,
	`supplier` text NOT NULL,
	`settings` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `fiscal_entity_id`, `supplier`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `invitations` (
	`invitation_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`email` text NOT NULL,
	`role` text NOT NULL,
	`name` text,
	`digest` text NOT NULL,
	`status` text NOT NULL,
	`invited_by` text NOT NULL,
	`credential_expires_at` integer,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`scopes` text,
	`fiscal_entity_ids` text,
	`allowed_addresses` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `invitations_digest` ON `invitations` (`digest`);--> statement-breakpoint
CREATE UNIQUE INDEX `invitations_pending` ON `invitations` (`organization_id`,lower(email)) WHERE status = 'pending';--> statement-breakpoint
CREATE TABLE `members` (
	`member_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`name` text NOT NULL,
	`email` text NOT NULL,
	`role` text NOT NULL,
	`status` text NOT NULL,
	`email_confirmed_at` integer,
	`mail_alerts` text DEFAULT 'critical' NOT NULL,
	`mail_digest` integer DEFAULT true NOT NULL,
	`mail_language` text DEFAULT 'es' NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `members_organization` ON `members` (`organization_id`,`member_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `members_email` ON `members` (`organization_id`,lower(email)) WHERE status = 'active';--> statement-breakpoint
CREATE INDEX `members_address` ON `members` (lower(email)) WHERE status = 'active';--> statement-breakpoint
CREATE TABLE `organizations` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`contact_email` text,
	`logo_url` text,
	`timezone` text NOT NULL,
	`plan` text NOT NULL,
	`rfc_allowance` integer,
	`trial_ends_at` integer,
	`trial_email` text,
	`email_confirmed_at` integer,
	`suspension` text,
	`billed_month` text,
	`extractor_count` integer NOT NULL,
	`extractors_since` integer,
	`digest_on` text DEFAULT '' NOT NULL,
	`events_shard` integer NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `organizations_billed` ON `organizations` (`timezone`,`billed_month`);--> statement-breakpoint
CREATE INDEX `organizations_digest` ON `organizations` (`timezone`,`digest_on`);--> statement-breakpoint
CREATE INDEX `organizations_trial` ON `organizations` (`trial_ends_at`) WHERE plan = 'diagnostic' and suspension is null;--> statement-breakpoint
CREATE INDEX `organizations_suspended` ON `organizations` (`suspension`) WHERE suspension is not null;--> statement-breakpoint
CREATE TABLE `credentials` (
	`digest` text PRIMARY KEY NOT NULL,
	`api_key` text NOT NULL,
	`organization_id` text NOT NULL,
	`name` text NOT NULL,
	`role` text NOT NULL,
	`member_id` text NOT NULL,
	`created_by` text,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`last_used_on` text,
	`revoked_at` integer,
	`scopes` text,
	`fiscal_entity_ids` text,
	`allowed_addresses` text,
	`previous_digest` text,
	`overlap_until` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `credentials_api_key` ON `credentials` (`api_key`);--> statement-breakpoint
CREATE UNIQUE INDEX `credentials_previous` ON `credentials` (`previous_digest`) WHERE previous_digest is not null;--> statement-breakpoint
CREATE INDEX `credentials_organization` ON `credentials` (`organization_id`,`created_at`,`api_key`);--> statement-breakpoint
CREATE INDEX `credentials_valid` ON `credentials` (`organization_id`) WHERE revoked_at is null;--> statement-breakpoint
CREATE TABLE `console_sessions` (
	`session_id` text PRIMARY KEY NOT NULL,
	`api_key` text NOT NULL,
	`until` integer NOT NULL,
	`created_at` integer NOT NULL,
	`email` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `console_sessions_email` ON `console_sessions` (`email`) WHERE email is not null;--> statement-breakpoint
CREATE INDEX `console_sessions_credential` ON `console_sessions` (`api_key`,`until`);--> statement-breakpoint
CREATE INDEX `console_sessions_until` ON `console_sessions` (`until`);--> statement-breakpoint
CREATE TABLE `fetcher_signatures` (
	`mac` text PRIMARY KEY NOT NULL,
	`until` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `fetcher_signatures_until` ON `fetcher_signatures` (`until`);--> statement-breakpoint
CREATE TABLE `connect_links` (
	`connect_link_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`digest` text NOT NULL,
	`status` text NOT NULL,
	`consent_id` text NOT NULL,
	`fiscal_entity_id` text,
	`rfc` text,
	`is_relink` integer NOT NULL,
	`external_id` text,
	`metadata` text NOT NULL,
	`purposes` text NOT NULL,
	`controller` text NOT NULL,
	`sources` text NOT NULL,
	`logins` text NOT NULL,
	`access_from` text,
	`access_until` text,
	`language` text NOT NULL,
	`return_url` text,
	`state` text,
	`attempts` integer NOT NULL,
	`code` text,
	`token` text,
	`lease_until` integer,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`opened_at` integer,
	`connected_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `connect_links_digest` ON `connect_links` (`digest`);--> statement-breakpoint
CREATE INDEX `connect_links_organization` ON `connect_links` (`organization_id`,`connect_link_id`);--> statement-breakpoint
CREATE INDEX `connect_links_open` ON `connect_links` (`expires_at`) WHERE status in ('created', 'opened', 'verifying', 'refused');--> statement-breakpoint
CREATE INDEX `connect_links_expired` ON `connect_links` (`expires_at`);--> statement-breakpoint
CREATE TABLE `consents` (
	`consent_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`fiscal_entity_id` text NOT NULL,
	`entity` integer NOT NULL,
	`rfc` text NOT NULL,
	`connect_link_id` text,
	`consent_reference` text,
	`subject` text,
	`text` text,
	`purposes` text NOT NULL,
	`sources` text,
	`access_from` text,
	`access_until` text,
	`ends_at` integer,
	`granted_at` integer NOT NULL,
	`address_hash` text,
	`user_agent` text,
	`method` text NOT NULL,
	`signature` text,
	`certificate` text,
	`code_digest` text,
	`status` text NOT NULL,
	`ended_at` integer,
	`withdrawn_by` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `consents_organization` ON `consents` (`organization_id`,`consent_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `consents_active` ON `consents` (`organization_id`,`fiscal_entity_id`) WHERE status = 'active';--> statement-breakpoint
CREATE UNIQUE INDEX `consents_code` ON `consents` (`code_digest`) WHERE code_digest is not null;--> statement-breakpoint
CREATE INDEX `consents_ending` ON `consents` (`ends_at`) WHERE status = 'active' and ends_at is not null;--> statement-breakpoint
CREATE TABLE `extractors` (
	`extractor_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`name` text NOT NULL,
	`is_enabled` integer NOT NULL,
	`trigger_kind` text NOT NULL,
	`schedule_kind` text,
	`schedule_spec` text NOT NULL,
	`timezone` text NOT NULL,
	`scope` text NOT NULL,
	`scope_months` integer,
	`data_source_keys` text NOT NULL,
	`cadence` text,
	`armed_day` text,
	`last_run_at` integer,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `extractors_organization` ON `extractors` (`organization_id`,`extractor_id`);--> statement-breakpoint
CREATE INDEX `extractors_due` ON `extractors` (`timezone`,`cadence`,`extractor_id`) WHERE is_enabled = 1 and cadence is not null;--> statement-breakpoint
CREATE TABLE `zones` (
	`timezone` text PRIMARY KEY NOT NULL,
	`evaluated_day` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `tick_pages` (
	`timezone` text NOT NULL,
	`day` text NOT NULL,
	`cadence` text NOT NULL,
	`due_day` text NOT NULL,
	`instant` integer NOT NULL,
	`after` text NOT NULL,
	`is_done` integer NOT NULL,
	PRIMARY KEY(`timezone`, `day`, `cadence`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `tick_pages_open` ON `tick_pages` (`instant`) WHERE is_done = 0;--> statement-breakpoint
CREATE TABLE `runs` (
	`run_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`extractor_id` text NOT NULL,
	`trigger` text NOT NULL,
	`local_date` text,
	`fiscal_entity_id` text,
	`instant` integer NOT NULL,
	`status` text NOT NULL,
	`connections` integer NOT NULL,
	`dispatched` integer NOT NULL,
	`gap_jobs` integer DEFAULT 0 NOT NULL,
	`after` text DEFAULT '' NOT NULL,
	`created_at` integer NOT NULL,
	`moved_at` integer DEFAULT 0 NOT NULL,
	`asked` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `runs_planned` ON `runs` (`moved_at`) WHERE status = 'planned';--> statement-breakpoint
CREATE INDEX `runs_extractor` ON `runs` (`extractor_id`,`run_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `runs_local_date` ON `runs` (`extractor_id`,`local_date`) WHERE local_date is not null;--> statement-breakpoint
CREATE TABLE `exports` (
	`export_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`fiscal_entity_id` text NOT NULL,
	`created_by` text,
	`kind` text NOT NULL,
	`format` text NOT NULL,
	`headings` text DEFAULT 'api' NOT NULL,
	`filters` text NOT NULL,
	`start` text NOT NULL,
	`status` text NOT NULL,
	`rows` integer NOT NULL,
	`documents` integer NOT NULL,
	`without_xml` integer NOT NULL,
	`bytes` integer NOT NULL,
	`scanned_through` integer,
	`state` text,
	`object` text,
	`etag` text,
	`error_code` text,
	`token` text,
	`lease_until` integer NOT NULL,
	`attempts` integer NOT NULL,
	`created_at` integer NOT NULL,
	`completed_at` integer,
	`expires_at` integer
);
--> statement-breakpoint
CREATE INDEX `exports_organization` ON `exports` (`organization_id`,`export_id`);--> statement-breakpoint
CREATE INDEX `exports_open` ON `exports` (`lease_until`) WHERE status in ('queued', 'running', 'deleting');--> statement-breakpoint
CREATE INDEX `exports_expiring` ON `exports` (`expires_at`) WHERE status = 'ready';--> statement-breakpoint
CREATE INDEX `exports_ended` ON `exports` (`completed_at`) WHERE status in ('failed', 'expired');--> statement-breakpoint
CREATE TABLE `blacklist_changes` (
	`organization_id` text NOT NULL,
	`source` text NOT NULL,
	`rfc` text NOT NULL,
	`version` integer NOT NULL,
	`name` text NOT NULL,
	`change` text NOT NULL,
	`situacion_before` text,
	`situacion` text,
	`changed_at` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `source`, `rfc`, `version`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `blacklist_entries` (
	`organization_id` text NOT NULL,
	`source` text NOT NULL,
	`rfc` text NOT NULL,
	`name` text NOT NULL,
	`situacion` text,
	`history` text NOT NULL,
	`seen_on` text,
	PRIMARY KEY(`organization_id`, `source`, `rfc`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `blacklist_lists` (
	`organization_id` text NOT NULL,
	`source` text NOT NULL,
	`version` integer NOT NULL,
	`notified_version` integer DEFAULT 0 NOT NULL,
	`label` text,
	`digest` text,
	`list_date` text,
	`fetched_at` integer,
	`row_count` integer NOT NULL,
	`loading` text,
	`refused_digest` text,
	`refused_code` text,
	`refused_detail` text,
	`refused_at` integer,
	PRIMARY KEY(`organization_id`, `source`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `blacklist_lists_unnotified` ON `blacklist_lists` (`organization_id`) WHERE notified_version < version;--> statement-breakpoint
CREATE TABLE `trials` (
	`email` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`started_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `billing_customers` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`customer_ref` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `provider_events` (
	`event_id` text PRIMARY KEY NOT NULL,
	`type` text NOT NULL,
	`subject` text NOT NULL,
	`created_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `provider_events_subject` ON `provider_events` (`subject`);--> statement-breakpoint
CREATE TABLE `operator_orders` (
	`command_id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`organization_id` text NOT NULL,
	`invoice_id` text,
	`plan` text,
	`rfc_allowance` integer,
	`created_at` integer NOT NULL,
	`done_at` integer,
	`refused` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `operator_orders_open` ON `operator_orders` (`created_at`) WHERE done_at is null;--> statement-breakpoint
CREATE TABLE `invoices` (
	`invoice_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`sequence` integer NOT NULL,
	`period` text NOT NULL,
	`subtotal` text NOT NULL,
	`tax` text NOT NULL,
	`total` text NOT NULL,
	`currency` text NOT NULL,
	`status` text NOT NULL,
	`issued_at` integer NOT NULL,
	`due_on` text NOT NULL,
	`paid_at` integer,
	`rule_ref` text,
	`provider_ref` text,
	`review_at` integer,
	`send_at` integer,
	`pdf_url` text
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `invoices_organization` ON `invoices` (`organization_id`,`sequence`);--> statement-breakpoint
CREATE UNIQUE INDEX `invoices_period` ON `invoices` (`organization_id`,`period`) WHERE rule_ref is not null;--> statement-breakpoint
CREATE INDEX `invoices_open` ON `invoices` (`organization_id`,`due_on`) WHERE status = 'open';--> statement-breakpoint
CREATE INDEX `invoices_review` ON `invoices` (`review_at`) WHERE status = 'open' and review_at is not null;--> statement-breakpoint
CREATE INDEX `invoices_due` ON `invoices` (`due_on`) WHERE status = 'open';--> statement-breakpoint
CREATE INDEX `invoices_unsent` ON `invoices` (`send_at`) WHERE status = 'open' and send_at is not null;--> statement-breakpoint
CREATE INDEX `invoices_provider` ON `invoices` (`provider_ref`) WHERE provider_ref is not null;--> statement-breakpoint
CREATE TABLE `sandbox_cancellations` (
	`rfc` text NOT NULL,
	`uuid` text NOT NULL,
	`cancelled_at` integer NOT NULL,
	`cancellation_reason` text,
	`outcome` text,
	PRIMARY KEY(`rfc`, `uuid`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sandbox_notifications` (
	`rfc` text NOT NULL,
	`notification` text NOT NULL,
	`sent` text,
	`opened_at` integer,
	PRIMARY KEY(`rfc`, `notification`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sandbox_refused_logins` (
	`digest` text PRIMARY KEY NOT NULL
) WITHOUT ROWID;--> statement-breakpoint
CREATE TRIGGER `guards_refuse` BEFORE INSERT ON `guards` BEGIN SELECT RAISE(ABORT, 'guard ' || new.name); END;--> statement-breakpoint
CREATE TRIGGER `blacklist_lists_version` BEFORE UPDATE OF `version` ON `blacklist_lists` WHEN new.version <> old.version + 1 BEGIN SELECT RAISE(ABORT, 'guard list.version'); END;--> statement-breakpoint
CREATE TRIGGER `connections_left` AFTER UPDATE OF `state` ON `connections` WHEN old.state = 'active' AND new.state <> 'active' BEGIN UPDATE connections SET unnotified = json_object('since', coalesce(old.unnotified->>'since', new.updated_at), 'issued_from', new.issued_from, 'issued_to', new.issued_to, 'received_from', new.received_from, 'received_to', new.received_to) WHERE connection = new.connection; END;--> statement-breakpoint
CREATE TRIGGER `connections_unlinked` AFTER UPDATE OF `state` ON `connections` WHEN new.state = 'unlinked' BEGIN DELETE FROM mailbox_requests WHERE organization_id = new.organization_id AND entity = new.entity AND acknowledged_by IS NULL; END;--> statement-breakpoint
CREATE TRIGGER `openings_left` AFTER UPDATE OF `state` ON `connections` WHEN old.state = 'active' AND new.state <> 'active' BEGIN UPDATE mailbox_requests SET acknowledged_by = '' WHERE organization_id = new.organization_id AND entity = new.entity AND acknowledged_by IS NOT NULL; END;
