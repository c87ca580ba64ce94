ALTER TABLE `invoices` ADD `review_at` integer;--> statement-breakpoint
CREATE INDEX `invoices_review` ON `invoices` (`review_at`) WHERE status = 'open' and review_at is not null;