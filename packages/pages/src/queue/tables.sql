-- The reasons: docs/decisions/0005-queue.md.
--
-- Advisory locks: (7226, 16 + <lane>) one claim at a time takes jobs of a lane; (7226, 1) one count of the queue at a time;
-- (7226, 2) one comparison of the counts with the jobs at a time; (7227, <domain>) one bulk enqueue of a domain at a time;
-- (7228, <domain>) shared: a claim takes jobs of the domain; exclusive: a change of the domain is under way.
-- (7226, 0): one claim of version 0.2.0 at a time.

-- Jobs that wait or run. Those that have ended are in `job_ended`; nodes of 0.2.0 end them here, and they are moved later.
create table job (
  -- A UUID of version 7, which begins with the time in ms: random ones would touch another page of the index of ended jobs each.
  id          uuid primary key default overlay(overlay(gen_random_uuid()::text placing '7' from 15)
    placing overlay(lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') placing '-' from 9 for 0)
    from 1 for 13)::uuid,
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
  is_brought  boolean not null default false,
  -- Only crawlers that wait have asked for it. If all of them disconnect before it runs, it is deleted.
  is_for_waiting boolean not null default false
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- One open job for each variant of a page: a second request joins it.
create unique index job_open on job (domain_id, path, variant) where state in ('queued', 'running');

-- The waiting jobs of each account, by domain, in the order of claims.
create index job_line on job (priority, account_id, domain_id, turn, id) where state = 'queued';
create index job_age on job (priority, created_at) where state = 'queued';
create index job_running on job (domain_id) where state = 'running';
create index job_finished on job (finished_at) where finished_at is not null;

-- For the deletion of a domain.
create index job_domain on job (domain_id);

-- Jobs that have ended, for a week: what is still asked about them. Partitions of days (UTC), which are dropped whole. No primary key:
-- it would have to contain the time. `end_jobs` moves a job here in the transaction in which it ends.
create table job_ended (
  id          uuid not null,
  domain_id   integer not null references domain on delete cascade,
  path        text collate "C" not null,
  variant     text not null check (variant in ('desktop', 'mobile')),
  is_both     boolean not null,
  priority    smallint not null,
  state       text not null check (state in ('done', 'failed', 'cancelled')),
  outcome     text,
  detail      text,
  created_at  timestamptz not null,
  finished_at timestamptz not null default now(),
  request_id  text,
  warm        bigint
) partition by range (finished_at);
create index job_ended_id on job_ended (id);
create index job_ended_domain on job_ended (domain_id, finished_at);
create index job_ended_finished on job_ended (finished_at);
create table job_ended_default partition of job_ended default;
-- Later ones: packages/postgres/src/day-partitions.ts.
do $$
declare
  day date;
begin
  for ahead in 0..3 loop
    day := (now() at time zone 'UTC')::date + ahead;
    execute format('create table %I partition of job_ended for values from (%L) to (%L)',
      'job_ended_' || to_char(day, 'YYYYMMDD'), day || ' 00:00+00', day + 1 || ' 00:00+00');
  end loop;
end
$$;

-- The number of waiting `refresh` and `warm` jobs, counted again when older than five seconds: an exact count of a
-- million rows for each enqueue would cost more than the bound is worth.
create table queue_depth (
  one_row    boolean primary key default true check (one_row),
  queued     bigint not null,
  counted_at timestamptz not null
);
insert into queue_depth (queued, counted_at) values (0, '-infinity');

-- An account is in one of 16 lanes, with all its domains: docs/decisions/0076-claims-in-lanes.md. Triggers of `job` count in
-- the next two tables, whatever changes a job. No foreign keys: no claim waits for the deletion of a domain.

-- How many renders of each domain run, for its cap. Jobs that were brought along are not counted.
create table queue_running (
  domain_id  integer primary key,
  account_id integer not null,
  running    integer not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Where jobs wait. The number of a domain is the sum of its rows: what queues or cancels jobs adds a row, and waits for
-- no claim. Only claims put rows together, under the lock of the lane.
create table queue_waiting (
  lane       smallint generated always as ((account_id % 16)::smallint) stored,
  priority   smallint not null,
  account_id integer not null,
  domain_id  integer not null,
  waiting    integer not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
create index queue_waiting_line on queue_waiting (priority, lane, account_id, domain_id);

-- Whose turn it is. Only claims write these rows, under the lock of the lane.
create table queue_lane (
  lane         smallint not null,
  priority     smallint not null,
  -- How many turns each account of the lane has had.
  served       float8 not null default 0,
  -- The least turns of all lanes with work when this one was served last.
  least_served float8 not null default 0,
  -- The account that was served last.
  account_id   integer not null default 0,
  -- How many accounts waited, and when they were counted.
  accounts     integer not null default 1,
  counted_at   timestamptz not null default '-infinity',
  primary key (priority, lane)
) with (fillfactor = 10);
insert into queue_lane (lane, priority) select lane, priority from generate_series(0, 15) lane, generate_series(0, 2) priority;

-- The domain of each account that was served last. No foreign key: no claim waits for the deletion of an account, which
-- leaves three rows.
create table queue_domain (
  priority   smallint not null,
  account_id integer not null,
  domain_id  integer not null,
  primary key (priority, account_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- When the counts were last compared with the jobs.
create table queue_compared (
  one_row     boolean primary key default true check (one_row),
  compared_at timestamptz not null
);
insert into queue_compared (compared_at) values ('-infinity');

-- Nodes of 0.2.0: the account that was served last in each priority. What claims under way during an upgrade read.
create table queue_account (
  priority   smallint primary key,
  account_id integer not null
) with (fillfactor = 10);
insert into queue_account (priority, account_id) values (0, 0), (1, 0), (2, 0);

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

-- What each render did, for the owner. The last 20 of a page, for a week; packages/pages/src/queue/judging/render-records.ts. Partitions
-- of days (UTC), which are dropped whole. No primary key: it would have to contain the time.
create sequence render_record_id_seq as bigint;
create table render_record (
  id         bigint not null default nextval('render_record_id_seq'),
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
) partition by range (ended_at);
alter sequence render_record_id_seq owned by render_record.id;
create index render_record_page on render_record (domain_id, path, variant, id);
create index render_record_domain on render_record (domain_id, id);
create index render_record_ended on render_record (ended_at);
create table render_record_default partition of render_record default
  with (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
-- Later ones: packages/postgres/src/day-partitions.ts.
do $$
declare
  day date;
begin
  for ahead in 0..3 loop
    day := (now() at time zone 'UTC')::date + ahead;
    execute format('create table %I partition of render_record for values from (%L) to (%L)
        with (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02)',
      'render_record_' || to_char(day, 'YYYYMMDD'), day || ' 00:00+00', day + 1 || ' 00:00+00');
  end loop;
end
$$;

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
