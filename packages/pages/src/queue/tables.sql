-- The reasons: docs/decisions/0005-queue.md.
--
-- Advisory locks: (7226, 0) one claim at a time; (7226, 1) one count of the queue at a time;
-- (7227, <domain>) one bulk enqueue of a domain at a time.

create table job (
  id          uuid primary key default gen_random_uuid(),
  domain_id   integer not null references domain on delete cascade,
  -- The domain's account: accounts take turns, and share the slots of a node.
  account_id  integer not null,
  path        text collate "C" not null,
  -- `is_both`: when the desktop page has been rendered, a job that `follows` this one renders that for phones.
  variant     text not null default 'desktop' check (variant in ('desktop', 'mobile')),
  is_both     boolean not null default false,
  follows     uuid,
  -- 0 live, 1 refresh, 2 warm.
  priority    smallint not null,
  state       text not null default 'queued'
              check (state in ('queued', 'running', 'done', 'failed', 'cancelled')),
  -- The place in its domain's line.
  turn        bigint not null,
  run_at      timestamptz not null default now(),
  -- The number of claims. With the node it rejects results that come after the lease was lost.
  attempts    integer not null default 0,
  -- Crashes of the browser or the node. Too many end the job.
  faults      smallint not null default 0,
  node        text,
  lease_until timestamptz,
  -- A purge, refresh, deploy or change of settings came while it ran: its result is dropped and it runs again.
  superseded  boolean not null default false,
  outcome     text,
  detail      text,
  created_at  timestamptz not null default now(),
  started_at  timestamptz,
  finished_at timestamptz,
  -- The live request that first queued it, as in logs and X-Request-Id.
  request_id  text,
  -- How many edges have a crawler waiting for it, and until when an edge that crashed counts. Null: not counted.
  waiters     smallint not null default 0,
  wait_until  timestamptz,
  -- The warm run that it counts for.
  warm        bigint,
  -- The kind of crawler that it is rendered for, where rules tell crawlers apart.
  crawler     text,
  -- Claimed beside another job of its domain, the lead, whose slot it shares; it counts for no cap.
  is_brought  boolean not null default false
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- One open job for each variant of a page: a second request joins it.
create unique index job_open on job (domain_id, path, variant) where state in ('queued', 'running');

-- The waiting jobs of each account, by domain, in the order of claims.
create index job_line on job (priority, account_id, domain_id, turn, id) where state = 'queued';
create index job_age on job (priority, created_at) where state = 'queued';
create index job_running on job (domain_id) where state = 'running';
create index job_finished on job (finished_at) where finished_at is not null;

-- For the deletion of a domain, which takes finished jobs too.
create index job_domain on job (domain_id);

-- The number of waiting `refresh` and `warm` jobs, counted again when older than five seconds: an exact count of a
-- million rows for each enqueue would cost more than the bound is worth.
create table queue_depth (
  one_row    boolean primary key default true check (one_row),
  queued     bigint not null,
  counted_at timestamptz not null
);
insert into queue_depth (queued, counted_at) values (0, '-infinity');

-- Whose turn it was: the account that was served last in each priority, and the domain served last of each account.
-- Only claims write them, one at a time. No foreign key: no claim waits for the deletion of an account, which leaves
-- three rows.
create table queue_account (
  priority   smallint primary key,
  account_id integer not null
) with (fillfactor = 10);
insert into queue_account (priority, account_id) values (0, 0), (1, 0), (2, 0);

create table queue_domain (
  priority   smallint not null,
  account_id integer not null,
  domain_id  integer not null,
  primary key (priority, account_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- How a domain's site looks where there is no page; packages/pages/src/queue/judging/soft-404.ts. `finding` is null until the first
-- probe has ended, and kept while the next one runs.
create table probe (
  domain_id    integer primary key references domain on delete cascade,
  -- The open job of the probe; the job's row may be gone.
  job_id       uuid,
  requested_at timestamptz not null,
  -- The next probe. One after a change of the application comes earlier, but not before `not_before`.
  renew_at     timestamptz not null,
  not_before   timestamptz not null,
  finding      jsonb
);
create index probe_job on probe (job_id);

-- What each render did, for the owner. The last 20 of a page, for a week; packages/pages/src/queue/judging/render-records.ts.
create table render_record (
  id         bigint generated always as identity primary key,
  domain_id  integer not null references domain on delete cascade,
  path       text collate "C" not null,
  variant    text not null default 'desktop' check (variant in ('desktop', 'mobile')),
  job_id     uuid not null,
  outcome    text not null,
  detail     text,
  -- From the first request to the claim, and from the claim to the stored result.
  queued_ms  integer not null,
  stored_ms  integer not null,
  record     jsonb not null,
  ended_at   timestamptz not null default now(),
  request_id text
) with (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
create index render_record_page on render_record (domain_id, path, variant, id);
create index render_record_domain on render_record (domain_id, id);
create index render_record_ended on render_record (ended_at);

-- Ended renders by day and outcome: what is usual for a domain. Kept for nine days.
create table render_outcome_day (
  domain_id integer not null references domain on delete cascade,
  day       date    not null,
  outcome   text    not null,
  renders   integer not null,
  primary key (domain_id, day, outcome)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- How the last crawler spelt a page's address, where that is not the stored path. The origin is asked so.
create table page_spelling (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  spelling  text not null,
  asked_at  timestamptz not null default now(),
  primary key (domain_id, path)
);
