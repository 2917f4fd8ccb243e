-- Pages on which an owner tries rules before saving them; packages/pages/src/queue/tries/rule-tries.ts. Kept for a day. Each is rendered
-- under the present rules and under the tried ones, by a job of its own whose path is no page's.
create table rule_try (
  id           uuid not null,
  place        smallint not null,
  domain_id    integer not null references domain on delete cascade,
  requested_at timestamptz not null default now(),
  -- The job's row may be gone.
  job_id uuid not null unique,
  -- `TriedRules` in packages/pages/src/queue/jobs/claim.ts, and `TriedResult` in packages/pages/src/queue/tries/try-rules.ts; null: not there yet.
  tried  jsonb not null,
  result jsonb,
  before_picture bytea,
  after_picture  bytea,
  primary key (id, place)
);
create index rule_try_domain on rule_try (domain_id, requested_at);
create index rule_try_age on rule_try (requested_at);
