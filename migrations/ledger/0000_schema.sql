CREATE TABLE `cfdi` (
	`entity` integer NOT NULL,
	`uuid` text NOT NULL,
	`direction` integer NOT NULL,
	`cancelled` integer NOT NULL,
	`estatus` text NOT NULL,
	`issued_at` integer NOT NULL,
	`utc_offset` integer NOT NULL,
	`fecha` text NOT NULL,
	`kind` text NOT NULL,
	`version` text,
	`tipo_comprobante` text,
	`serie` text,
	`folio` text,
	`certified_at` text,
	`pac_rfc` text,
	`emisor_rfc` text NOT NULL,
	`emisor_nombre` text,
	`emisor_regimen_fiscal` text,
	`receptor_rfc` text NOT NULL,
	`receptor_nombre` text,
	`receptor_regimen_fiscal` text,
	`receptor_domicilio_fiscal` text,
	`counterparty_rfc` text NOT NULL,
	`uso_cfdi` text,
	`tipo_relacion` text,
	`metodo_pago` text,
	`forma_pago` text,
	`condiciones_pago` text,
	`currency` text,
	`tipo_cambio` text,
	`subtotal` text,
	`descuento` text,
	`total` text,
	`exportacion` text,
	`lugar_expedicion` text,
	`total_micros` text,
	`iva_trasladado` text,
	`iva_retenido` text,
	`isr_retenido` text,
	`ieps_trasladado` text,
	`total_mxn` text,
	`payment_status` text,
	`paid` text NOT NULL,
	`credited` text NOT NULL,
	`last_payment_at` text,
	`fully_paid_at` text,
	`applied_until` integer,
	`substituted_from` integer,
	`substitutes_from` integer,
	`cancelled_at` text,
	`cancellation_reason` text,
	`folio_sustitucion` text,
	`xml_object` text,
	`xml_offset` integer,
	`xml_length` integer,
	`xml_method` integer,
	`xml_size` integer,
	`xml_crc` integer,
	`updated_at` integer NOT NULL,
	`related` text,
	`chunk` integer,
	`chunk_at` integer,
	`chunk_parts` integer,
	`stored_by` integer,
	`stored` text,
	`net_mxn` text,
	`taxes` text,
	`first_paid_on` text,
	`last_paid_on` text,
	`beyond_advances` text,
	`terms_days` integer,
	`status_checks` text,
	`beyond_limits` text,
	`products` text,
	PRIMARY KEY(`entity`, `uuid`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `cfdi_dirc` ON `cfdi` (`entity`,`direction`,`cancelled`,`issued_at`,`uuid`);--> statement-breakpoint
CREATE INDEX `cfdi_cpd` ON `cfdi` (`entity`,`counterparty_rfc`,`direction`,`issued_at`,`uuid`);--> statement-breakpoint
CREATE INDEX `cfdi_tipoc` ON `cfdi` (`entity`,`tipo_comprobante`,`direction`,`cancelled`,`issued_at`,`uuid`);--> statement-breakpoint
CREATE INDEX `cfdi_pay` ON `cfdi` (`entity`,`payment_status`,`direction`,`issued_at`,`uuid`) WHERE payment_status is not null;--> statement-breakpoint
CREATE INDEX `cfdi_dated_in_another_zone` ON `cfdi` (`entity`,`issued_at`,`uuid`) WHERE substr(fecha, 1, 10) <> date(issued_at - 21600, 'unixepoch');--> statement-breakpoint
CREATE INDEX `cfdi_late` ON `cfdi` (`entity`,`direction`,`first_paid_on`) WHERE first_paid_on < date(substr(fecha, 1, 10), '-45 days') or last_paid_on > date(substr(fecha, 1, 10), '+45 days');--> statement-breakpoint
CREATE INDEX `cfdi_elsewhere` ON `cfdi` (`entity`,`direction`,`last_paid_on`) WHERE tipo_comprobante in ('I', 'E') and last_paid_on is not null;--> statement-breakpoint
CREATE INDEX `cfdi_substituted` ON `cfdi` (`entity`,`direction`,`substituted_from`) WHERE substituted_from is not null;--> statement-breakpoint
CREATE INDEX `cfdi_personal` ON `cfdi` (`entity`,`cancelled`,`issued_at`,`uuid`) WHERE direction = 1 and uso_cfdi > 'D' and uso_cfdi < 'E';--> statement-breakpoint
CREATE TABLE `cfdi_advances` (
	`entity` integer NOT NULL,
	`advance` text NOT NULL,
	`source` text NOT NULL,
	PRIMARY KEY(`entity`, `advance`, `source`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `cfdi_advances_source` ON `cfdi_advances` (`entity`,`source`);--> statement-breakpoint
CREATE TABLE `cfdi_chunks` (
	`entity` integer NOT NULL,
	`chunk` integer NOT NULL,
	`data` blob NOT NULL,
	PRIMARY KEY(`entity`, `chunk`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `cfdi_commits` (
	`entity` integer NOT NULL,
	`sequence` integer NOT NULL,
	`committed_at` integer NOT NULL,
	`touched` blob,
	PRIMARY KEY(`entity`, `sequence`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `cfdi_months` (
	`entity` integer NOT NULL,
	`month` text NOT NULL,
	`direction` integer NOT NULL,
	`sums` text NOT NULL,
	`cells` text NOT NULL,
	`products` text,
	PRIMARY KEY(`entity`, `month`, `direction`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `cfdi_payments` (
	`entity` integer NOT NULL,
	`invoice` text NOT NULL,
	`source` text NOT NULL,
	`n` integer NOT NULL,
	`kind` text NOT NULL,
	`amount` text NOT NULL,
	`currency` text,
	`tipo_cambio` text,
	`conversion` text,
	`amount_mxn` text,
	`payment_mxn` text,
	`taxes` text,
	`fecha_pago` text NOT NULL,
	`forma_pago` text,
	`num_parcialidad` text,
	`imp_saldo_ant` text,
	`imp_pagado` text,
	`imp_saldo_insoluto` text,
	`seen_from` integer,
	`seen_until` integer,
	PRIMARY KEY(`entity`, `invoice`, `source`, `n`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `cfdi_related` (
	`entity` integer NOT NULL,
	`uuid` text NOT NULL,
	`related` text NOT NULL,
	PRIMARY KEY(`entity`, `uuid`)
);
--> statement-breakpoint
CREATE TABLE `cfdi_substitutions` (
	`entity` integer NOT NULL,
	`substituted` text NOT NULL,
	`source` text NOT NULL,
	PRIMARY KEY(`entity`, `substituted`, `source`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `cfdi_substitutions_source` ON `cfdi_substitutions` (`entity`,`source`);--> statement-breakpoint
CREATE TABLE `cfdi_suppliers` (
	`entity` integer NOT NULL,
	`month` text NOT NULL,
	`part` integer NOT NULL,
	`totals` text NOT NULL,
	PRIMARY KEY(`entity`, `month`, `part`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `entities` (
	`entity` integer PRIMARY KEY NOT NULL,
	`rfc` text NOT NULL,
	`organization_id` text
);
--> statement-breakpoint
CREATE TABLE `cancellations` (
	`entity` integer NOT NULL,
	`found_at` integer NOT NULL,
	`uuid` text NOT NULL,
	`body` text NOT NULL,
	PRIMARY KEY(`entity`, `found_at`, `uuid`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `coverage` (
	`entity` integer NOT NULL,
	`source` text NOT NULL,
	`months` text NOT NULL,
	PRIMARY KEY(`entity`, `source`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `extractions` (
	`organization_id` text NOT NULL,
	`entity` integer NOT NULL,
	`run_id` text NOT NULL,
	`n` integer DEFAULT 0 NOT NULL,
	`instant` integer NOT NULL,
	`jobs` blob NOT NULL,
	`dispatched` integer NOT NULL,
	`gap_jobs` integer DEFAULT 0 NOT NULL,
	`requested_at` integer NOT NULL,
	`attempts_before` text NOT NULL,
	`is_range` integer DEFAULT 0 NOT NULL,
	`is_cancelled` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`organization_id`, `entity`, `run_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sync_jobs` (
	`entity` integer NOT NULL,
	`source` text NOT NULL,
	`month` text NOT NULL,
	`job_id` text NOT NULL,
	`organizations` text,
	`late` text,
	`deferred` text DEFAULT '{}' NOT NULL,
	`open` integer NOT NULL,
	`is_claimed` integer DEFAULT 0 NOT NULL,
	`status` text GENERATED ALWAYS AS ((case when open = 0 then iif(error_class is null, 'succeeded', 'failed') else iif(is_claimed, 'running', 'queued') end)) VIRTUAL NOT NULL,
	`as_of` integer NOT NULL,
	`not_before` integer NOT NULL,
	`wait_until` integer,
	`attempts` integer NOT NULL,
	`created_after` integer NOT NULL,
	`created_at` integer GENERATED ALWAYS AS ((as_of + created_after)) VIRTUAL NOT NULL,
	`started_at` integer,
	`finished_after` integer,
	`finished_at` integer GENERATED ALWAYS AS ((as_of + created_after + finished_after)) VIRTUAL,
	`error_class` text,
	`created_count` integer NOT NULL,
	`updated_count` integer NOT NULL,
	`cancelled_count` integer NOT NULL,
	`rejected_count` integer NOT NULL,
	`rejected_files` text,
	`brought` text DEFAULT '[]' NOT NULL,
	`is_continued` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`entity`, `source`, `month`, `job_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sync_work` (
	`entity` integer PRIMARY KEY NOT NULL,
	`jobs` text NOT NULL,
	`runs` text DEFAULT '[]' NOT NULL,
	`due_at` integer NOT NULL,
	`token` text,
	`leased_at` integer,
	`lease_until` integer,
	`is_interactive` integer DEFAULT 0 NOT NULL,
	`claim_per_job` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE `certificates` (
	`entity` integer NOT NULL,
	`serial` text NOT NULL,
	`valid_to` text NOT NULL,
	PRIMARY KEY(`entity`, `serial`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `certificates_expiring` ON `certificates` (`valid_to`,`entity`,`serial`);--> statement-breakpoint
CREATE TABLE `documents` (
	`entity` integer NOT NULL,
	`document_id` text NOT NULL,
	`source` text NOT NULL,
	`kind` text NOT NULL,
	`series` text NOT NULL,
	`name` text NOT NULL,
	`title` text NOT NULL,
	`content_type` text NOT NULL,
	`size` integer NOT NULL,
	`sha256` text NOT NULL,
	`document_date` text NOT NULL,
	`period_end` text,
	`attributes` text NOT NULL,
	`organizations` text NOT NULL,
	`created_at` integer NOT NULL,
	`is_current` integer DEFAULT 1 NOT NULL,
	`fields_status` text NOT NULL,
	`fields` text,
	`fields_base` text,
	`fields_reason` text,
	`read_attempts` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`entity`, `document_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `documents_pending` ON `documents` (`read_attempts`,`created_at`) WHERE fields_status = 'pending';--> statement-breakpoint
CREATE TABLE `obligation_rules` (
	`due_rule` text NOT NULL,
	`entity` integer NOT NULL,
	PRIMARY KEY(`due_rule`, `entity`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `import_sources` (
	`import_partition` integer NOT NULL,
	`part` integer NOT NULL,
	`import_id` text NOT NULL,
	`data` blob NOT NULL,
	PRIMARY KEY(`import_partition`, `part`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `import_results` (
	`import_id` text NOT NULL,
	`part` integer NOT NULL,
	`first_n` integer NOT NULL,
	`last_n` integer NOT NULL,
	`created` integer NOT NULL,
	`updated` integer NOT NULL,
	`unchanged` integer NOT NULL,
	`rejected` integer NOT NULL,
	`ranges` text NOT NULL,
	`data` blob NOT NULL,
	PRIMARY KEY(`import_id`, `part`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `imports` (
	`import_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`fiscal_entity_id` text NOT NULL,
	`import_partition` integer NOT NULL,
	`entity` integer NOT NULL,
	`rfc` text NOT NULL,
	`object` text NOT NULL,
	`bytes` integer NOT NULL,
	`documents` integer NOT NULL,
	`stored_bytes` integer NOT NULL,
	`status` text NOT NULL,
	`token` text,
	`lease_until` integer NOT NULL,
	`attempts` integer NOT NULL,
	`checkpoint` text,
	`parts` text DEFAULT '[]' NOT NULL,
	`created_at` integer NOT NULL,
	`completed_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `imports_open` ON `imports` (`lease_until`) WHERE status <> 'completed';--> statement-breakpoint
CREATE INDEX `imports_import_partition` ON `imports` (`import_partition`,`import_id`);--> statement-breakpoint
CREATE TABLE `mailbox_notifications` (
	`entity` integer NOT NULL,
	`sent_at` integer NOT NULL,
	`notification` text NOT NULL,
	`kind` text NOT NULL,
	`title` text NOT NULL,
	`authority` text NOT NULL,
	`document_number` text,
	`document_kind` text,
	`opened_at` integer,
	`is_listed` integer NOT NULL,
	`name` text,
	`content_type` text,
	`size` integer,
	`sha256` text,
	`fetched_at` integer,
	`organizations` text NOT NULL,
	PRIMARY KEY(`entity`, `sent_at`, `notification`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `mailbox_readers` (
	`entity` integer NOT NULL,
	`organization_id` text NOT NULL,
	PRIMARY KEY(`entity`, `organization_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `status_rechecks` (
	`entity` integer NOT NULL,
	`uuid` text NOT NULL,
	`due_at` integer NOT NULL,
	`recheck` text NOT NULL,
	PRIMARY KEY(`entity`, `uuid`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `status_rechecks_due` ON `status_rechecks` (`due_at`);--> statement-breakpoint
CREATE TABLE `cancellation_requests` (
	`entity` integer NOT NULL,
	`uuid` text NOT NULL,
	`status` text NOT NULL,
	`number` integer NOT NULL,
	`clear_at` integer,
	`detected_at` integer NOT NULL,
	`seen_at` integer NOT NULL,
	`decided_at` integer,
	`reply` text,
	`replied_at` integer,
	PRIMARY KEY(`entity`, `uuid`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `cancellation_requests_detected` ON `cancellation_requests` (`entity`,`detected_at`,`uuid`);--> statement-breakpoint
CREATE INDEX `cancellation_requests_pending` ON `cancellation_requests` (`entity`,`uuid`) WHERE status = 'pending';--> statement-breakpoint
CREATE TABLE `cancellation_watches` (
	`entity` integer PRIMARY KEY NOT NULL,
	`day` text NOT NULL,
	`searched` integer NOT NULL,
	`followed` integer NOT NULL,
	`answers` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `authority_conversations` (
	`entity` integer PRIMARY KEY NOT NULL,
	`due_at` integer,
	`token` text,
	`busy_until` integer DEFAULT 0 NOT NULL,
	`refused` text,
	`failures` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE INDEX `authority_conversations_due` ON `authority_conversations` (`due_at`) WHERE due_at is not null;--> statement-breakpoint
CREATE TABLE `authority_requests` (
	`entity` integer NOT NULL,
	`n` integer NOT NULL,
	`family` text NOT NULL,
	`source` text NOT NULL,
	`kind` text NOT NULL,
	`first` text NOT NULL,
	`last` text NOT NULL,
	`months` text NOT NULL,
	`state` text NOT NULL,
	`request_id` text,
	`code` text,
	`message` text,
	`announced` integer,
	`packages` text DEFAULT '[]' NOT NULL,
	`asked_at` integer NOT NULL,
	`attempts` integer DEFAULT 0 NOT NULL,
	`heard_at` integer,
	PRIMARY KEY(`entity`, `n`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `authority_requests_once` ON `authority_requests` (`entity`,`family`,`source`,`kind`,`first`,`last`);--> statement-breakpoint
CREATE TABLE `fetches` (
	`fetch` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`entity` integer NOT NULL,
	`source` text NOT NULL,
	`month` text NOT NULL,
	`asked_at` integer NOT NULL,
	`state` text NOT NULL,
	`due_at` integer,
	`token` text,
	`leased_at` integer,
	`version` integer,
	`login` text,
	`files` text DEFAULT '{}' NOT NULL,
	`is_whole` integer DEFAULT 1 NOT NULL,
	`error_class` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `fetches_job` ON `fetches` (`entity`,`source`,`month`);--> statement-breakpoint
CREATE INDEX `fetches_due` ON `fetches` (`due_at`) WHERE due_at is not null;--> statement-breakpoint
CREATE INDEX `fetches_over` ON `fetches` (`entity`) WHERE state in ('complete', 'failed');--> statement-breakpoint
CREATE TABLE `report_parts` (
	`connection` integer NOT NULL,
	`kind` text NOT NULL,
	`month` text NOT NULL,
	`n` integer NOT NULL,
	`data` text NOT NULL,
	PRIMARY KEY(`connection`, `kind`, `month`, `n`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `report_states` (
	`connection` integer PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`fiscal_entity_id` text NOT NULL,
	`entity` integer NOT NULL,
	`sequence` integer DEFAULT 0 NOT NULL,
	`import_sequence` integer DEFAULT 0 NOT NULL,
	`basis` text,
	`generated_at` integer,
	`watermark` integer,
	`vat` text,
	`round` text,
	`due_at` integer,
	`token` text,
	`lease_until` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE INDEX `report_states_entity` ON `report_states` (`entity`);--> statement-breakpoint
CREATE INDEX `report_states_left` ON `report_states` (`lease_until`) WHERE due_at is not null or round is not null;--> statement-breakpoint
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
CREATE TABLE `guards` (
	`name` text NOT NULL
);--> statement-breakpoint
CREATE TRIGGER `guards_refuse` BEFORE INSERT ON `guards` BEGIN SELECT RAISE(ABORT, 'guard ' || new.name); END;--> statement-breakpoint
CREATE TRIGGER `report_states_due` AFTER INSERT ON `cfdi_commits` BEGIN UPDATE report_states SET due_at = new.committed_at + 30000 WHERE due_at IS NULL AND (entity = new.entity OR connection = -new.entity); END;--> statement-breakpoint
CREATE TRIGGER `report_states_due_of_run` AFTER INSERT ON `extractions` BEGIN UPDATE report_states SET due_at = new.requested_at + 30000 WHERE due_at IS NULL AND entity = new.entity AND organization_id = new.organization_id; END;
