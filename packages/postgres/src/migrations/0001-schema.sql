-- The whole schema of a new database. src/db/migrate.ts applies it as migration 0001; later changes are files in
-- src/db/migrations/, named NNNN-<what>.sql, which only add.
--
-- Names follow the glossary. Times are timestamptz; months are the first day of the UTC month; days are UTC.
-- Paths and names are sorted by bytes (collate "C") on every server, so that lists are read from an index.
-- Tables that change all the time are vacuumed after 2 % of dead rows: the default of 20 % would be millions.
--
--   1 Accounts and sign-in      5 Render history and inspections
--   2 Domains                   6 Warm and freshness
--   3 Pages                     7 Certificates
--   4 Queue                     8 Traffic
--                               9 Nodes
--                              10 Notifications
--                              11 Site files


------------------------------------------------------------------------------------------------------------------------
-- 1 Accounts and sign-in.
------------------------------------------------------------------------------------------------------------------------

create table account (
  id            integer generated always as identity primary key,
  email         text not null unique check (email = lower(email)),
  plan          text not null,
  created_at    timestamptz not null default now(),
  role          text not null default 'owner' check (role in ('owner', 'operator')),
  -- Of src/accounts/sign-in/passwords.ts; null: no sign-in to the dashboard.
  password_hash text,
  -- Suspended by an operator: no sign-in, keys and tokens are refused, live traffic passes to the origin.
  suspended_at  timestamptz
);

-- `token_hash`: SHA-256 of the token in the session cookie.
create table sign_in_session (
  id         integer generated always as identity primary key,
  account_id integer not null references account on delete cascade,
  token_hash bytea not null unique,
  address    text not null,
  user_agent text not null,
  created_at timestamptz not null,
  used_at    timestamptz not null,
  expires_at timestamptz not null
);
create index sign_in_session_account on sign_in_session (account_id);
create index sign_in_session_expiry on sign_in_session (expires_at);

-- One-time links to set a password: `first` (the operator of a new installation), `invitation` (a new account),
-- `reset` (a forgotten password). Only the hash is stored.
create table sign_in_link (
  id         integer generated always as identity primary key,
  token_hash bytea not null unique,
  kind       text not null check (kind in ('first', 'invitation', 'reset')),
  email      text,
  plan       text,
  role       text not null default 'owner' check (role in ('owner', 'operator')),
  account_id integer references account on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

-- Failed sign-ins by client and by account, counted over all nodes.
create table sign_in_failure (
  subject    text primary key,
  started_at timestamptz not null,
  failures   integer not null
);
create index sign_in_failure_age on sign_in_failure (started_at);

-- Only the hash of a key is stored; the key itself is shown once, in the response that created it.
create table api_key (
  id           integer generated always as identity primary key,
  account_id   integer not null references account on delete cascade,
  name         text not null,
  key_hash     bytea not null unique,
  hint         text not null,
  created_at   timestamptz not null default now(),
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz
);
create index api_key_account on api_key (account_id);
-- For the removal of old keys (src/accounts/retention.ts). Writing `last_used_at` changes no column of the index.
create index api_key_ended on api_key (coalesce(revoked_at, expires_at)) where coalesce(revoked_at, expires_at) is not null;

-- Rate limits of an account over all nodes: the times of its recent uses. `what` names the limit; src/db/account-rate.ts.
create table account_rate (
  account_id integer not null references account on delete cascade,
  what       text not null,
  moments    timestamptz[] not null,
  primary key (account_id, what)
) with (fillfactor = 50);

-- Event streams outlive the request that opened them. These triggers notify nodes when a session ends, a key is
-- revoked, or an account's plan, role or suspension changes, so that they check the stream's access again.
create function notify_access_ended() returns trigger language plpgsql as $$
begin
  perform pg_notify('access_ended', old.account_id::text);
  return null;
end
$$;
create function notify_account_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('access_ended', old.id::text);
  return null;
end
$$;
create trigger session_ended after delete on sign_in_session
  for each row execute function notify_access_ended();
create trigger key_revoked after update of revoked_at on api_key
  for each row when (old.revoked_at is distinct from new.revoked_at) execute function notify_access_ended();
create trigger account_changed after update of plan, role, suspended_at on account
  for each row when (old.plan is distinct from new.plan or old.role is distinct from new.role
                     or old.suspended_at is distinct from new.suspended_at)
  execute function notify_account_changed();


------------------------------------------------------------------------------------------------------------------------
-- 2 Domains
------------------------------------------------------------------------------------------------------------------------

create table domain (
  id            integer generated always as identity primary key,
  account_id    integer not null references account on delete cascade,
  custom_domain text collate "C" not null unique,
  origin_url    text not null,
  is_active     boolean not null default true,
  settings      jsonb not null default '{}',
  -- Made when IndexNow is first switched on; the key file proves the owner's consent.
  indexnow_key  text,
  created_at    timestamptz not null default now(),
  updated_at    timestamptz not null default now()
);
create index domain_account on domain (account_id, custom_domain);

create table webhook_token (
  id           integer generated always as identity primary key,
  domain_id    integer not null references domain on delete cascade,
  name         text not null,
  token_hash   bytea not null unique,
  hint         text not null,
  created_at   timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at   timestamptz
);
create index webhook_token_domain on webhook_token (domain_id);
create index webhook_token_ended on webhook_token (revoked_at) where revoked_at is not null;

-- The current rate-limit window of a domain's webhook, which its first request opened.
create table webhook_window (
  domain_id  integer primary key references domain on delete cascade,
  started_at timestamptz not null,
  requests   integer not null
);

-- A node requests `token` under the domain's name. If `answer` comes back, the name leads to this fleet.
create table reachability_check (
  domain_id  integer primary key references domain on delete cascade,
  token      text not null,
  answer     text not null,
  expires_at timestamptz not null
);

-- At 120 % of the month's renders nothing is rendered any more; `overQuota` in src/accounts/quota.ts is the same rule.
create function over_quota(used bigint, most bigint) returns boolean
language sql immutable as $$ select used * 5 >= most * 6 $$;

-- Renders that counted against the quota, by month, and by day for charts.
create table render_count (
  domain_id integer not null references domain on delete cascade,
  month     date not null,
  renders   integer not null default 0,
  primary key (domain_id, month)
);
create table render_day (
  domain_id integer not null references domain on delete cascade,
  day       date    not null,
  renders   integer not null,
  primary key (domain_id, day)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);


------------------------------------------------------------------------------------------------------------------------
-- 3 Pages
------------------------------------------------------------------------------------------------------------------------

-- One stored render. The body is brotli, as it is served; PostgreSQL does not compress it again.
create table page (
  domain_id            integer not null references domain on delete cascade,
  path                 text collate "C" not null,
  -- Of `PageId`: made for desktops or for phones.
  variant              text not null default 'desktop' check (variant in ('desktop', 'mobile')),
  status               smallint not null,
  headers              jsonb not null,
  body_br              bytea not null,
  html_bytes           integer not null,
  etag                 text not null,
  rendered_at          timestamptz not null,
  -- Made stale by an event, not by age: still served, refreshed at the next request.
  stale_since          timestamptz,
  -- The amount of text, and since when newer renders with far less are refused; src/queue/judging/judge-page.ts.
  text_chars           integer,
  refused_since        timestamptz,
  -- When its text last changed; null: when it was rendered.
  changed_at           timestamptz,
  -- The build of the site's application, named by src/render/visit/recorder.ts, and the one before it. Several pages
  -- with a new build mean a deploy: src/queue/upkeep/deploy.ts.
  application          text,
  previous_application text,
  -- What a rule did to its render, named by src/rules/rule-book.ts, and what that changed; empty and null: nothing.
  rule_effect          text not null default '',
  rule_changes         jsonb,
  -- The page links to Markdown of the site's own.
  own_markdown         boolean not null default false,
  primary key (domain_id, path, variant)
) with (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
alter table page alter column body_br set storage external;

-- The list of pages in each order. Each index ends with the path, so that a list continues after its last row, and a
-- search for part of a path reads only the index. The first one also finds expired pages.
create index page_rendered on page (domain_id, rendered_at, path) include (status, stale_since, variant);
create index page_status on page (domain_id, status, path) include (variant);
create index page_size on page (domain_id, html_bytes, path) include (variant);
create index page_application on page (domain_id, application, rendered_at) where stale_since is null;

-- Markdown and cards made of stored pages; src/forms/stored-form.ts. One of another snapshot (`page_etag`) is not read.
create table page_form (
  domain_id integer not null,
  path      text collate "C" not null,
  variant   text not null,
  form      text not null check (form in ('markdown', 'card')),
  page_etag text not null,
  body_br   bytea not null,
  etag      text not null,
  -- For response headers; src/forms/convert.ts.
  facts     jsonb not null,
  primary key (domain_id, path, variant, form),
  foreign key (domain_id, path, variant) references page on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
alter table page_form alter column body_br set storage external;

create table redirect (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  status    smallint not null,
  location  text not null,
  stored_at timestamptz not null,
  variant   text not null default 'desktop' check (variant in ('desktop', 'mobile')),
  primary key (domain_id, path, variant)
);
create index redirect_age on redirect (domain_id, stored_at);

create table sitemap (
  domain_id  integer not null references domain on delete cascade,
  path       text collate "C" not null,
  headers    jsonb not null,
  body       bytea not null,
  fetched_at timestamptz not null,
  primary key (domain_id, path)
);

-- Paths that crawlers requested or sitemaps list. Stored pages are known without a row here.
create table known_path (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  source    text not null check (source in ('crawler', 'sitemap')),
  seen_at   timestamptz not null,
  -- Of the sitemap's entry.
  lastmod   timestamptz,
  primary key (domain_id, path, source)
) with (autovacuum_vacuum_scale_factor = 0.02);
-- Expired rows are found by age. Paths of sitemaps expire domain by domain: without its index each run read all rows
-- (a second for half a million), and with fifteen million it was cut off and removed nothing.
create index known_path_crawler on known_path (seen_at) where source = 'crawler';
create index known_path_sitemap on known_path (domain_id, seen_at) where source = 'sitemap';

-- The last crawler of each page that was served. Not in `page`: it outlives a refresh, and an edge that notes visits
-- never waits for a page that is being stored or purged. src/store/last-visits.ts.
create table last_visit (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  crawler   text not null,
  category  text not null,
  visited_at timestamptz not null,
  primary key (domain_id, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index last_visit_time on last_visit (domain_id, visited_at, path);

-- The outcome of the last render of each path, kept longer than its record.
create table last_render (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  outcome   text collate "C" not null,
  ended_at  timestamptz not null,
  primary key (domain_id, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index last_render_outcome on last_render (domain_id, outcome, path);
create index last_render_ended on last_render (domain_id, ended_at);

-- Ended renders by day and outcome: what is usual for a domain. Kept for nine days.
create table render_outcome_day (
  domain_id integer not null references domain on delete cascade,
  day       date    not null,
  outcome   text    not null,
  renders   integer not null,
  primary key (domain_id, day, outcome)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- What the last few different snapshots of a page contained, without their HTML. `facts`: JSON in brotli.
create table page_digest (
  id          bigint generated always as identity primary key,
  domain_id   integer not null references domain on delete cascade,
  path        text collate "C" not null,
  variant     text not null default 'desktop' check (variant in ('desktop', 'mobile')),
  etag        text not null,
  status      smallint not null,
  html_bytes  integer not null,
  rendered_at timestamptz not null,
  facts       bytea not null
) with (autovacuum_vacuum_scale_factor = 0.02);
alter table page_digest alter column facts set storage external;
create index page_digest_page on page_digest (domain_id, path, variant, id);
create index page_digest_age on page_digest (rendered_at);

-- Whether desktops and phones get the same page, for the paths that were compared; src/sites/devices.ts.
create table device_page (
  domain_id    integer not null references domain on delete cascade,
  path         text collate "C" not null,
  -- Since then each page for phones is compared, until one could be.
  requested_at timestamptz not null default now(),
  -- The last comparison; null: none yet.
  checked_at   timestamptz,
  differences  text[] not null default '{}',
  primary key (domain_id, path)
);


------------------------------------------------------------------------------------------------------------------------
-- 4 Queue. The reasons: docs/decisions/0005-queue.md.
--
-- Advisory locks: (7226, 0) one claim at a time; (7226, 1) one count of the queue at a time;
-- (7227, <domain>) one bulk enqueue of a domain at a time.
------------------------------------------------------------------------------------------------------------------------

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
  -- A purge or refresh came while it ran: its result is dropped and it runs again.
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

-- A page with status 5xx is not stored, but a crawler waits for it, maybe at another node. It is kept here for a
-- minute; src/store/stored-page.ts. It need not survive a crash of the server.
create unlogged table unstored_page (
  job_id     uuid primary key references job on delete cascade,
  domain_id  integer not null references domain on delete cascade,
  status     smallint not null,
  headers    jsonb not null,
  body_br    bytea not null,
  html_bytes integer not null,
  etag       text not null,
  own_markdown boolean not null,
  made_at    timestamptz not null
);
alter table unstored_page alter column body_br set storage external;
create index unstored_page_domain on unstored_page (domain_id, made_at);
create index unstored_page_made on unstored_page (made_at);

-- How a domain's site looks where there is no page; src/queue/judging/soft-404.ts. `finding` is null until the first
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

-- Headers for a domain's origin; src/sites/origin-headers.ts. `shown`: without their values.
create table origin_header (
  domain_id  integer primary key references domain on delete cascade,
  shown      jsonb not null,
  key_sealed bytea not null
);

-- Pages on which an owner tries rules before saving them; src/queue/tries/rule-tries.ts. Kept for a day. Each is rendered
-- under the present rules and under the tried ones, by a job of its own whose path is no page's.
create table rule_try (
  id           uuid not null,
  place        smallint not null,
  domain_id    integer not null references domain on delete cascade,
  requested_at timestamptz not null default now(),
  -- The job's row may be gone.
  job_id uuid not null unique,
  -- `TriedRules` in src/queue/jobs/claim.ts, and `TriedResult` in src/queue/tries/try-rules.ts; null: not there yet.
  tried  jsonb not null,
  result jsonb,
  before_picture bytea,
  after_picture  bytea,
  primary key (id, place)
);
create index rule_try_domain on rule_try (domain_id, requested_at);
create index rule_try_age on rule_try (requested_at);

-- The first and the last turn of a domain's waiting jobs in one priority; null for none. Comparing rows and ordering by
-- all columns forces the index `job_line`: with `=` the planner may take another and read the jobs of all domains.
create function first_turn(lane smallint, account integer, domain integer) returns bigint
language sql as $$
  select turn from job
   where state = 'queued' and (priority, account_id, domain_id) >= (lane, account, domain)
     and (priority, account_id, domain_id) <= (lane, account, domain)
   order by priority, account_id, domain_id, turn, id limit 1
$$;
create function last_turn(lane smallint, account integer, domain integer) returns bigint
language sql as $$
  select turn from job
   where state = 'queued' and (priority, account_id, domain_id) >= (lane, account, domain)
     and (priority, account_id, domain_id) <= (lane, account, domain)
   order by priority desc, account_id desc, domain_id desc, turn desc, id desc limit 1
$$;
-- Ends a job that its caller has locked. One that follows it waits after all others, and counts for the warm in its
-- place; where that one fails, both have failed.
create function end_job(ended uuid, of_state text, of_outcome text, of_detail text) returns void
language plpgsql as $$
declare
  j           job;
  lane        smallint;
  is_followed boolean := false;
begin
  select * into j from job where id = ended;
  if of_state <> 'cancelled' and j.is_both
     and not exists (select from page where page.domain_id = j.domain_id and page.path = j.path
                      and page.variant = 'mobile' and page.rendered_at >= j.created_at) then
    lane := greatest(j.priority, 1);
    insert into job (domain_id, account_id, path, variant, follows, priority, turn, warm)
      values (j.domain_id, j.account_id, j.path, 'mobile', ended, lane,
              coalesce(last_turn(lane, j.account_id, j.domain_id), 0) + 1, j.warm)
      on conflict (domain_id, path, variant) where state in ('queued', 'running') do nothing;
    is_followed := found;
    perform pg_notify('job_queued', lane::text);
  end if;
  update job set state = of_state, outcome = of_outcome, detail = of_detail, finished_at = now(), lease_until = null,
         warm = case when not is_followed then warm end
   where id = ended;
  if of_state = 'failed' then
    update job set state = of_state, outcome = of_outcome, detail = of_detail where id = j.follows and state = 'done';
  end if;
  perform pg_notify('job_done', ended::text);
end
$$;
-- Queues renders of `paths` (all different) and returns the open job of each. `are_both`: for each path, whether
-- `mobile` follows `desktop`. A page that has an open job joins it and raises its priority. No rows: the queue is full.
-- A domain may have at most as many background jobs waiting as there is room left, and an account as many live jobs.
-- Alone it gets half of the queue, two get a third each, and there is always room for another one.
--
-- A function, because it needs a lock first and a read afterwards: the snapshot of a single statement is older than the
-- lock it waits for (measured: a cap of 2 let 7 renders run). In a volatile function each statement has its own snapshot.
create function enqueue_jobs(for_domain integer, paths text[], for_variant text, are_both boolean[], lane smallint, bound bigint)
returns table (path text, job_id uuid)
language plpgsql
-- Statistics always lag behind what a queue holds: only its indexes are right, in their own order.
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
as $$
#variable_conflict use_column
declare
  account integer;
  fresh   bigint;
  raised  bigint;
  joined  uuid[];
  own     bigint;
  whole   bigint;
  base    bigint;
begin
  if lane = 0 then
    -- What a crawler asks for need not survive the server: it waits at most for some seconds.
    perform set_config('synchronous_commit', 'off', true);
  end if;
  if lane > 0 or cardinality(paths) > 1 then
    perform pg_advisory_xact_lock(7227, for_domain);
  end if;

  select count(*) filter (where j.id is null),
         count(*) filter (where j.priority > lane or (asked.is_both and not j.is_both)), array_agg(j.id)
    into fresh, raised, joined
    from unnest(paths, are_both) as asked(path, is_both)
    left join job j on j.domain_id = for_domain and j.path = asked.path and j.variant = for_variant
                   and j.state in ('queued', 'running');

  if fresh = 0 and raised = 0 then
    -- By id: one that ended a moment ago has its result, and is as good.
    return query select j.path, j.id from job j where j.id = any (joined);
    return;
  end if;

  select d.account_id into account from domain d where d.id = for_domain;
  if account is null then
    raise foreign_key_violation using message = 'the domain is gone';
  end if;

  if fresh > 0 then
    if lane = 0 then
      select count(*) into whole
        from (select from job where state = 'queued' and priority = 0 limit bound) waiting;
      select count(*) into own
        from (select from job where state = 'queued' and (priority, account_id) >= (0::smallint, account)
                and (priority, account_id) <= (0::smallint, account) limit bound) waiting;
    else
      if exists (select from queue_depth where counted_at < clock_timestamp() - interval '5 seconds')
         and pg_try_advisory_xact_lock(7226, 1) then
        update queue_depth set
          queued = (select count(*) from job where state = 'queued' and priority > 0),
          counted_at = clock_timestamp();
      end if;
      select queued into whole from queue_depth;
      -- Turns of a domain differ, so their range is never less than the number of its jobs.
      own := 0;
      for line in 1..2 loop
        own := own + coalesce(last_turn(line::smallint, account, for_domain)
                              - first_turn(line::smallint, account, for_domain) + 1, 0);
      end loop;
      if own + greatest(own, whole) + 2 * fresh > bound then
        select count(*) into own from job
         where state = 'queued' and priority in (1, 2) and account_id = account and domain_id = for_domain;
      end if;
    end if;
    if own + greatest(own, whole) + 2 * fresh > bound then
      return;
    end if;
  end if;

  base := coalesce(last_turn(lane, account, for_domain), 0);

  -- In the order of paths, so that two that meet here lock rows in the same order.
  insert into job as known (domain_id, account_id, path, variant, is_both, priority, turn)
    select for_domain, account, asked.path, for_variant, asked.is_both, lane, base + asked.place
      from unnest(paths, are_both) with ordinality as asked(path, is_both, place)
     order by asked.path collate "C"
    on conflict (domain_id, path, variant) where state in ('queued', 'running')
    do update set priority = least(known.priority, excluded.priority), is_both = known.is_both or excluded.is_both,
                  turn = case when excluded.priority < known.priority then excluded.turn else known.turn end
       where excluded.priority < known.priority or excluded.is_both > known.is_both;
  perform pg_notify('job_queued', lane::text);

  -- All of them are locked by now.
  return query
    select j.path, j.id from job j
     where j.domain_id = for_domain and j.path = any (paths) and j.variant = for_variant
       and j.state in ('queued', 'running');
end
$$;
-- Whether an edge has told that its crawlers wait, and all of them have left or must have.
create function is_abandoned(j job) returns boolean language sql as $$
  select j.wait_until is not null and (j.waiters <= 0 or j.wait_until <= clock_timestamp())
$$;
-- Queues a live job, notes its request, and that an edge waits for it, in one step. As a second statement the note
-- locked the row while the woken node looked for work: `claim_jobs` skipped it, and the crawler waited up to a second
-- for the next poll. For the same reason a job that is joined wakes the nodes again.
create function enqueue_live_job(
  for_domain integer, for_path text, for_variant text, bound bigint, for_request text, waits interval, for_crawler text)
returns uuid
language plpgsql as $$
declare
  asked uuid;
begin
  select job_id into asked from enqueue_jobs(for_domain, array[for_path], for_variant, array[false], 0::smallint, bound);
  update job j set
    request_id = coalesce(request_id, for_request),
    crawler = case when state = 'queued' then coalesce(crawler, for_crawler) else crawler end,
    waiters = greatest(waiters, 0) + 1,
    wait_until = greatest(wait_until, clock_timestamp() + waits)
   where id = asked and state in ('queued', 'running');
  perform pg_notify('job_queued', '0');
  return asked;
end
$$;
-- Claims at most `slots` jobs for a node, at most `background_slots` of them `refresh` or `warm`: `live` before
-- `refresh` before `warm`; accounts take turns, and domains of an account. A domain has at most `domain_cap` running
-- renders over all nodes, and background jobs start only below `background_cap` of them. An account has at most
-- `account_cap` of the node's slots, unless no other account has a domain. `occupied`: the accounts that hold the slots
-- which are not free. The node knows them: a render that was given back or cancelled holds its slot for a moment.
-- `plain`: domains whose pages the node reads without a browser. A background job of theirs brings up to `brought` more
-- of its line along, which together take about as long as one render.
create function claim_jobs(
  by_node text, slots integer, background_slots integer,
  occupied integer[], account_cap integer, domain_cap integer, background_cap integer, lease interval, in_month date,
  plain integer[], brought integer)
returns table (
  job_id uuid, domain_id integer, account_id integer, path text, priority smallint, attempts integer, faults smallint,
  custom_domain text, origin_url text, is_active boolean, plan text, renders integer, lead uuid)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
as $$
#variable_conflict use_column
declare
  is_shared      boolean;
  full_accounts  integer[];
  full_live      integer[];
  full_background integer[];
  lowest         smallint;
  picked         uuid;
  claimed        integer := 0;
  background     integer := 0;
  served         record;
  moment         constant timestamptz := clock_timestamp();
begin
  -- A claim that the server forgets in a crash is a job that is still queued: nothing is lost.
  perform set_config('synchronous_commit', 'off', true);

  if not exists (select from job where state = 'queued') then
    return;
  end if;
  perform pg_advisory_xact_lock(7226, 0);
  select min(d.account_id) < max(d.account_id) into is_shared from domain d;

  while claimed < slots loop
    lowest := case when background < background_slots then 2 else 0 end;
    select coalesce(array_agg(d) filter (where n >= domain_cap), '{}'),
           coalesce(array_agg(d) filter (where n >= background_cap), '{}')
      into full_live, full_background
      from (select j.domain_id as d, count(*) as n from job j
             where j.state = 'running' and not j.is_brought group by 1) busy;
    full_accounts := '{}';
    if is_shared then
      select coalesce(array_agg(a), '{}') into full_accounts
        from (select a from unnest(occupied) a group by a having count(*) >= account_cap) busy;
    end if;

    picked := next_job(lowest, full_accounts, full_live, full_background);
    exit when picked is null;

    claimed := claimed + 1;
    select j.priority, j.account_id, j.domain_id into served from job j where j.id = picked;
    return query
      with line as materialized (
        select j.id from job j
         where served.priority > 0 and served.domain_id = any (plain) and j.id <> picked
           and j.state = 'queued' and j.run_at <= moment
           and (j.priority, j.account_id, j.domain_id) >= (served.priority, served.account_id, served.domain_id)
           and (j.priority, j.account_id, j.domain_id) <= (served.priority, served.account_id, served.domain_id)
         order by j.priority, j.account_id, j.domain_id, j.turn, j.id limit brought
           for update skip locked
      ), taken as (
        update job j set state = 'running', node = by_node, attempts = j.attempts + 1, is_brought = j.id <> picked,
               lease_until = clock_timestamp() + lease, started_at = clock_timestamp()
         where j.id = any (picked || array(select line.id from line))
        returning j.*)
      select t.id, t.domain_id, t.account_id, t.path, t.priority, t.attempts, t.faults,
             d.custom_domain, d.origin_url, d.is_active, a.plan, coalesce(c.renders, 0), picked
        from taken t
        join domain d on d.id = t.domain_id
        join account a on a.id = d.account_id
        left join render_count c on c.domain_id = t.domain_id and c.month = in_month;
    update queue_account q set account_id = served.account_id
     where q.priority = served.priority and q.account_id <> served.account_id;
    insert into queue_domain as q (priority, account_id, domain_id)
      values (served.priority, served.account_id, served.domain_id)
      on conflict (priority, account_id) do update set domain_id = excluded.domain_id
         where q.domain_id <> excluded.domain_id;
    background := background + least(served.priority, 1);
    occupied := occupied || served.account_id;
  end loop;
end
$$;
-- Locks and returns the next job that may run; null when there is none. Both loops begin after the one that was served
-- last, and go round: pass 1 to the end, pass 2 from the start. Each step is one look into `job_line`, however many
-- jobs an account or a domain has waiting.
create function next_job(lowest smallint, full_accounts integer[], full_live integer[], full_background integer[])
returns uuid
language plpgsql as $$
#variable_conflict use_column
declare
  last_account integer;
  account      integer;
  picked       uuid;
begin
  for lane in 0..lowest loop
    select q.account_id into last_account from queue_account q where q.priority = lane;
    for pass in 1..2 loop
      account := case pass when 1 then last_account else 0 end;
      loop
        select account_id into account from job
         where state = 'queued' and (priority, account_id) > (lane::smallint, account)
           and (priority, account_id) <= (lane::smallint, case pass when 1 then 2147483647 else last_account end)
         order by priority, account_id, domain_id, turn, id limit 1;
        exit when account is null;
        continue when account = any (full_accounts);
        picked := next_job_of(lane::smallint, account, case lane when 0 then full_live else full_background end);
        if picked is not null then return picked; end if;
      end loop;
    end loop;
  end loop;
  return null;
end
$$;
create function next_job_of(lane smallint, account integer, full_domains integer[]) returns uuid
language plpgsql as $$
#variable_conflict use_column
declare
  last_domain integer;
  domain      integer;
  candidate   record;
  picked      uuid;
  -- One value for a whole search: a condition on it is checked once, not for each row.
  moment      constant timestamptz := clock_timestamp();
begin
  select q.domain_id into last_domain from queue_domain q where q.priority = lane and q.account_id = account;
  last_domain := coalesce(last_domain, 0);
  for pass in 1..2 loop
    domain := case pass when 1 then last_domain else 0 end;
    loop
      select domain_id into domain from job
       where state = 'queued' and (priority, account_id, domain_id) > (lane, account, domain)
         and (priority, account_id, domain_id)
             <= (lane, account, case pass when 1 then 2147483647 else last_domain end)
       order by priority, account_id, domain_id, turn, id limit 1;
      exit when domain is null;
      continue when domain = any (full_domains);
      for candidate in
        select id, is_abandoned(job) as is_abandoned from job
         where state = 'queued' and run_at <= moment
           and (priority, account_id, domain_id) >= (lane, account, domain)
           and (priority, account_id, domain_id) <= (lane, account, domain)
         order by priority, account_id, domain_id, turn, id limit 200
      loop
        select id into picked from job where id = candidate.id and state = 'queued' for update skip locked;
        continue when picked is null;
        if lane > 0 or not candidate.is_abandoned then return picked; end if;
        -- All crawlers have left: it is rendered when no crawler waits.
        update job j set priority = 1, turn = coalesce(last_turn(1::smallint, account, domain), 0) + 1,
               waiters = 0, wait_until = null
         where id = picked and is_abandoned(j);
      end loop;
    end loop;
  end loop;
  return null;
end
$$;
-- Live jobs that crawlers wait for and no node runs: of each account the first ones, and how many renders of their
-- domains run.
create function waiting_live_jobs(at_most integer)
returns table (id uuid, account_id integer, domain_id integer, running integer)
language sql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
as $$
  with recursive account as (
    (select account_id from job
      where state = 'queued' and (priority, account_id) >= (0::smallint, 0)
        and (priority, account_id) <= (0::smallint, 2147483647)
      order by priority, account_id, domain_id, turn, id limit 1)
    union all
    select following.account_id from account, lateral (
      select account_id from job
       where state = 'queued' and (priority, account_id) > (0::smallint, account.account_id)
         and (priority, account_id) <= (0::smallint, 2147483647)
       order by priority, account_id, domain_id, turn, id limit 1) following
  )
  select waiting.id, waiting.account_id, waiting.domain_id,
         (select count(*)::integer from job r
           where r.domain_id = waiting.domain_id and r.state = 'running' and not r.is_brought)
    from account, lateral (
      select id, account_id, domain_id from job
       where state = 'queued' and run_at <= clock_timestamp() and not is_abandoned(job)
         and (priority, account_id) >= (0::smallint, account.account_id)
         and (priority, account_id) <= (0::smallint, account.account_id)
       order by priority, account_id, domain_id, turn, id limit at_most) waiting
   limit at_most * 4
$$;
-- What a claimed job needs to know of its domain at the moment of the claim. Volatile, to have its own snapshot: the
-- claiming statement's is older than the lock it waits for, and missed settings that were saved meanwhile.
create function claim_details(for_domain integer, for_job uuid)
returns table (
  visitor jsonb, query jsonb, origin_cache_control text, is_probe boolean, queued_ms float8, wait_left_ms float8,
  rules jsonb, crawler text, tried jsonb, variant text, is_compared boolean, sealed_headers bytea, request_id text)
language sql volatile as $$
  select settings -> 'render', settings -> 'query', settings ->> 'origin_cache_control',
         exists (select from probe where job_id = for_job),
         extract(epoch from clock_timestamp() - j.created_at) * 1000,
         extract(epoch from j.wait_until - clock_timestamp()) * 1000,
         settings -> 'rules', j.crawler,
         (select r.tried from rule_try r where job_id = for_job),
         j.variant,
         exists (select from device_page c where c.domain_id = d.id and c.path = j.path
                   and (c.checked_at is null or c.checked_at < c.requested_at)),
         (select key_sealed from origin_header where domain_id = for_domain), j.request_id
    from domain d
    left join job j on j.id = for_job
   where d.id = for_domain
$$;

------------------------------------------------------------------------------------------------------------------------
-- 5 Render history and inspections
------------------------------------------------------------------------------------------------------------------------

-- What each render did, for the owner. The last 20 of a page, for a week; src/queue/judging/render-records.ts.
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

-- An owner inspects a page: a rendering node loads what crawlers get and what people get, once. The results are kept
-- for a day. The lease works as for jobs.
create table inspection (
  id              uuid primary key default gen_random_uuid(),
  domain_id       integer not null references domain on delete cascade,
  path            text collate "C" not null,
  variant         text not null default 'desktop' check (variant in ('desktop', 'mobile')),
  state           text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed')),
  reason          text,
  node            text,
  attempts        smallint not null default 0,
  lease_until     timestamptz,
  requested_at    timestamptz not null default now(),
  finished_at     timestamptz,
  crawler         jsonb,
  person          jsonb,
  crawler_picture bytea,
  person_picture  bytea
);
alter table inspection
  alter column crawler_picture set storage external,
  alter column person_picture set storage external;
create unique index inspection_open on inspection (domain_id, path, variant) where state in ('queued', 'running');
create index inspection_page on inspection (domain_id, path, variant, requested_at);
create index inspection_waiting on inspection (requested_at) where state in ('queued', 'running');
create index inspection_age on inspection (requested_at);


------------------------------------------------------------------------------------------------------------------------
-- 6 Warm and freshness
------------------------------------------------------------------------------------------------------------------------

-- The current or last warm of each domain. Its states: src/queue/warm/warm.ts.
create sequence warm_number;
create table warm (
  domain_id   integer primary key references domain on delete cascade,
  -- A new number at each start: jobs of an earlier run are not counted.
  run         bigint not null default nextval('warm_number'),
  which       text not null default 'all' check (which in ('all', 'outdated')),
  state       text not null default 'reading'
              check (state in ('reading', 'queueing', 'rendering', 'done', 'cancelled', 'failed')),
  -- Since when it is paused; null: it is not. `reason`: who paused it, or what is missing.
  paused_at   timestamptz,
  reason      text,
  -- The site's robots.txt as read at the start; null: not read yet.
  robots      text,
  -- Known paths up to this one are done.
  after_path  text collate "C" not null default '',
  -- Known paths once all sitemaps were read: queued, forbidden by robots.txt, passed by a rule of the domain, or fresh.
  known       integer not null default 0,
  queued      integer not null default 0,
  forbidden   integer not null default 0,
  passed      integer not null default 0,
  fresh       integer not null default 0,
  -- Of the node that reads the sitemaps, by the database's clock.
  lease       uuid,
  lease_until timestamptz,
  started_at  timestamptz not null default now(),
  moved_at    timestamptz not null default now(),
  ended_at    timestamptz
);
create index warm_under_way on warm (moved_at) where state in ('reading', 'queueing', 'rendering');

-- Counts of ended renders. Not in `warm`, so that they never wait for the step that queues.
create table warm_count (
  domain_id integer primary key references domain on delete cascade,
  run       bigint not null,
  done      integer not null default 0,
  -- Of the done: the snapshot was the same as before.
  unchanged integer not null default 0,
  failed    integer not null default 0
) with (fillfactor = 10);

-- The sitemaps of a run. One that was begun and not ended is read again by the next node.
create table warm_sitemap (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  -- The number of index files above it.
  depth     smallint not null,
  -- The number of entries for this site; null: not read yet, or not readable (`failure` says why).
  entries   integer,
  failure   text,
  primary key (domain_id, path)
);

-- Paths that a pause took back from the queue.
create table warm_paused (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  primary key (domain_id, path)
);

-- Counts each ended job, however it ended. It runs after the statement, when all rows of jobs are locked, so that
-- nothing waits for a job while it has the counts locked.
create function count_warmed() returns trigger language plpgsql as $$
begin
  update warm_count set
    done = done + (new.state = 'done')::integer,
    unchanged = unchanged + (new.state = 'done' and new.detail is not distinct from 'unchanged')::integer,
    failed = failed + (new.state <> 'done')::integer
   where domain_id = new.domain_id and run = new.warm;
  return null;
end
$$;
create trigger job_counts_for_warm after update of state on job for each row
  when (new.warm is not null and old.state in ('queued', 'running') and new.state in ('done', 'failed', 'cancelled'))
  execute function count_warmed();

-- Refreshes of a domain that no crawler waited for, and deploys that were handled; src/queue/upkeep/refresh-ahead.ts.
create table freshness (
  domain_id integer primary key references domain on delete cascade,
  next_at   timestamptz not null default now(),
  -- The number of refreshes queued ahead on that day.
  day       date,
  ahead     integer not null default 0,
  deploys   timestamptz[] not null default '{}'
) with (fillfactor = 50);
create index freshness_next on freshness (next_at);


------------------------------------------------------------------------------------------------------------------------
-- 7 Certificates. Columns named `sealed` are encrypted with the master key, which is not in the database.
------------------------------------------------------------------------------------------------------------------------

-- The id of the master key: nodes with different keys notice it here.
create table master_key (
  one_row boolean primary key default true check (one_row),
  id      text not null
);

-- The certificate that is served. `acme`: ordered by Prepaint; `own`: supplied by the owner.
create table certificate (
  domain_id  integer primary key references domain on delete cascade,
  source     text not null check (source in ('acme', 'own')),
  chain      text not null,
  key_sealed bytea not null,
  not_before timestamptz not null,
  not_after  timestamptz not null,
  stored_at  timestamptz not null default now()
);
alter table certificate alter column key_sealed set storage plain;

-- When each domain's next certificate is ordered, and why the last attempt failed. A node works on it under a lease;
-- its result counts only while it has the lease.
create table certificate_order (
  domain_id   integer primary key references domain on delete cascade,
  next_at     timestamptz not null default now(),
  -- The present certificate is good until then; null: there is none.
  renew_at    timestamptz,
  failures    integer not null default 0,
  -- The kind of the last failure: src/certificates/orders/back-off.ts.
  failure     text,
  reason      text,
  failed_at   timestamptz,
  lease       uuid,
  lease_until timestamptz
) with (fillfactor = 80);
create index certificate_order_next on certificate_order (next_at);

create function expect_certificate() returns trigger language plpgsql as $$
begin
  insert into certificate_order (domain_id) values (new.id);
  return null;
end
$$;
create trigger domain_expects_certificate after insert on domain
  for each row execute function expect_certificate();

-- Responses to a CA's challenges, served by any node. The lease ensures that there is one of each kind at a time.
create table acme_challenge (
  domain_id         integer not null references domain on delete cascade,
  kind              text not null check (kind in ('http-01', 'tls-alpn-01')),
  token             text not null,
  key_authorization text not null,
  expires_at        timestamptz not null,
  primary key (domain_id, kind)
);

-- The account at a CA, by the URL of its directory.
create table acme_account (
  directory  text primary key,
  key_sealed bytea not null,
  created_at timestamptz not null default now()
);

-- One row for each order, for the budget of the whole fleet, in which accounts take turns. No foreign key: orders of a
-- deleted account still count.
create table acme_order (
  ordered_at timestamptz not null,
  account_id integer
);
create index acme_order_time on acme_order (ordered_at);


------------------------------------------------------------------------------------------------------------------------
-- 8 Traffic. Nodes count in memory and add their counts every few seconds; src/insight/traffic/.
------------------------------------------------------------------------------------------------------------------------

-- By hour. category: of crawlers, or `people`, whose visits are one row an hour. crawler: a known name, or `other`.
-- times: a histogram with the fixed steps of src/insight/traffic/time-range.ts, without trailing zeros.
-- Statuses that are not counted were 2xx. unanswered: the client disconnected before the response.
create table traffic_hour (
  domain_id  integer     not null references domain on delete cascade,
  hour       timestamptz not null,
  category   text        not null,
  crawler    text        not null,
  verdict    text        not null,
  visits     bigint      not null,
  status_3xx bigint      not null,
  status_4xx bigint      not null,
  status_5xx bigint      not null,
  unanswered bigint      not null,
  times      integer[]   not null,
  -- How many of them got a form other than HTML.
  markdown   bigint      not null default 0,
  cards      bigint      not null default 0,
  -- How many of them got the page for phones.
  mobile     bigint      not null default 0,
  primary key (domain_id, hour, category, crawler, verdict)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- The same by day, for longer ranges: a twenty-fourth of the rows.
create table traffic_day (
  domain_id  integer   not null references domain on delete cascade,
  day        date      not null,
  category   text      not null,
  crawler    text      not null,
  verdict    text      not null,
  visits     bigint    not null,
  status_3xx bigint    not null,
  status_4xx bigint    not null,
  status_5xx bigint    not null,
  unanswered bigint    not null,
  times      integer[] not null,
  markdown   bigint    not null default 0,
  cards      bigint    not null default 0,
  mobile     bigint    not null default 0,
  primary key (domain_id, day, category, crawler, verdict)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- The paths of a day that crawlers requested most, and those that failed most. Path '': all others together.
create table traffic_path (
  domain_id  integer  not null references domain on delete cascade,
  day        date     not null,
  is_failing boolean  not null,
  path       text collate "C" not null,
  visits     bigint   not null,
  -- Of the newest visit.
  verdict    text     not null,
  status     smallint not null,
  markdown   bigint   not null default 0,
  cards      bigint   not null default 0,
  primary key (domain_id, day, is_failing, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- Visits to paths that robots.txt forbids the crawler, with three of the paths.
create table traffic_forbidden (
  domain_id integer not null references domain on delete cascade,
  day       date    not null,
  category  text    not null,
  crawler   text    not null,
  visits    bigint  not null,
  paths     text[]  not null,
  primary key (domain_id, day, category, crawler)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- The last crawler of a domain.
create table traffic_last (
  domain_id integer primary key references domain on delete cascade,
  crawler   text        not null,
  category  text        not null,
  seen_at   timestamptz not null
) with (fillfactor = 80);

-- The last batch of each node: a batch whose result was lost is not added twice.
create table traffic_batch (
  node       uuid primary key,
  batch      bigint      not null,
  written_at timestamptz not null
);
create index traffic_batch_age on traffic_batch (written_at);

-- For lists of domains, by day: requests of crawlers for pages, and how many were hits. Summaries of 10,000 domains
-- read from `traffic_hour` added up 1.5 million rows; here a week of a domain is sixteen rows.
create table traffic_summary (
  domain_id    integer  not null references domain on delete cascade,
  day          date     not null,
  -- 0: from rows that grew, 1: from new rows. Two triggers write them, one after the other. With one row, two nodes
  -- that count the same domains could deadlock.
  part         smallint not null,
  pages        bigint   not null,
  hits         bigint   not null,
  -- The same by hour of the day, 24 each.
  hourly_pages bigint[] not null,
  hourly_hits  bigint[] not null,
  primary key (domain_id, day, part)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- The verdicts are `NO_PAGES` of src/insight/traffic/verdict-kind.ts. A test compares them.
create function is_for_page(category text, verdict text) returns boolean language sql immutable as $$
  select category <> 'people' and verdict not in (
    'pass; not-a-crawler', 'pass; method', 'pass; category', 'pass; authorization', 'pass; cookie', 'pass; own-markdown',
    'pass; asset', 'pass; excluded', 'pass; rule', 'pass; path', 'pass; inactive', 'pass; loop', 'pass; forged', 'rule', 'redirect', 'site-file', 'blocked',
    'payment', 'sitemap')
$$;

-- Adds changes of rows. All nodes write in the same order, so that they cannot deadlock. Each of the 24 hours is
-- written out: a loop over an array took twice as long.
do $written_out$ begin execute format($function$
  create function add_to_summaries(
    of_part smallint, domains integer[], hours timestamptz[], are_hits boolean[], changes bigint[]
  ) returns void language plpgsql as $$
  begin
    insert into traffic_summary as t (domain_id, day, part, pages, hits, hourly_pages, hourly_hits)
    select c.domain_id, c.day, of_part, sum(c.pages), sum(c.hits), array[%1$s], array[%2$s]
      from (select u.domain_id, (u.hour at time zone 'UTC')::date as day,
                   extract(hour from u.hour at time zone 'UTC')::integer as hour,
                   sum(u.visits)::bigint as pages, coalesce(sum(u.visits) filter (where u.is_hit), 0)::bigint as hits
              from unnest(domains, hours, are_hits, changes) as u (domain_id, hour, is_hit, visits)
             group by 1, 2, 3) c
     group by c.domain_id, c.day
     order by c.domain_id, c.day
    on conflict (domain_id, day, part) do update set
      pages = t.pages + excluded.pages, hits = t.hits + excluded.hits,
      hourly_pages = array[%3$s], hourly_hits = array[%4$s];
  end
  $$
$function$,
  (select string_agg(format('coalesce(max(c.pages) filter (where c.hour = %s), 0)', h), ', ' order by h) from generate_series(0, 23) h),
  (select string_agg(format('coalesce(max(c.hits) filter (where c.hour = %s), 0)', h), ', ' order by h) from generate_series(0, 23) h),
  (select string_agg(format('t.hourly_pages[%1$s] + excluded.hourly_pages[%1$s]', h), ', ' order by h) from generate_series(1, 24) h),
  (select string_agg(format('t.hourly_hits[%1$s] + excluded.hourly_hits[%1$s]', h), ', ' order by h) from generate_series(1, 24) h));
end $written_out$;

create function summarise_grown() returns trigger language plpgsql as $$
begin
  perform add_to_summaries(0::smallint, array_agg(domain_id), array_agg(hour),
                           array_agg(verdict in ('hit', 'stale')), array_agg(visits))
     from (select domain_id, hour, category, verdict, visits from now_rows
           union all
           select domain_id, hour, category, verdict, -visits from before_rows) changed
    where is_for_page(category, verdict)
   having count(*) > 0;
  return null;
end
$$;
create function summarise_new() returns trigger language plpgsql as $$
begin
  perform add_to_summaries(1::smallint, array_agg(domain_id), array_agg(hour),
                           array_agg(verdict in ('hit', 'stale')), array_agg(visits))
     from now_rows
    where is_for_page(category, verdict)
   having count(*) > 0;
  return null;
end
$$;

-- When one statement updates and inserts, PostgreSQL runs the first trigger before the second. The removal of old hours
-- changes nothing: summaries do not reach back that far.
create trigger traffic_summary_grown after update on traffic_hour
  referencing old table as before_rows new table as now_rows for each statement execute function summarise_grown();
create trigger traffic_summary_new after insert on traffic_hour
  referencing new table as now_rows for each statement execute function summarise_new();


------------------------------------------------------------------------------------------------------------------------
-- 9 Nodes
------------------------------------------------------------------------------------------------------------------------

-- Running nodes. Each updates its row every five seconds and deletes it at shutdown; after three missed updates it
-- counts as dead, and its row is removed later. Times are of the database's clock.
create table node (
  -- The name under which it holds jobs (job.node).
  id               text primary key,
  host             text not null,
  -- Null: not listening yet.
  api_port         integer,
  version          text not null,
  roles            text[] not null,
  started_at       timestamptz not null default clock_timestamp(),
  seen_at          timestamptz not null default clock_timestamp(),
  draining         boolean not null default false,
  slots            integer not null,
  running          integer not null,
  cores            integer not null,
  load             real not null,
  memory_bytes     bigint not null,
  browser          text not null check (browser in ('ok', 'broken', 'none')),
  -- The last migration that it knows.
  schema           text not null,
  browsers         integer not null default 0,
  -- Including replaced ones, since the node started.
  browsers_started integer not null default 0
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);


------------------------------------------------------------------------------------------------------------------------
-- 10 Notifications. Events are recorded in the transaction of what they report, each with a unique key, so that several
-- nodes record it once. Nodes send deliveries under a lease; src/notifications/.
--
-- Advisory lock: (7228, 0) one claim of deliveries at a time.
------------------------------------------------------------------------------------------------------------------------

create function iso_time(at timestamptz) returns text language sql stable as $$
  select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- What the rules remember of a domain between two evaluations; src/notifications/incidents/.
create table health (
  domain_id       integer primary key references domain on delete cascade,
  -- The first request that was answered below 500.
  live_at         timestamptz,
  -- By kind: since when its condition holds, its last sign, its last end. In milliseconds.
  watch           jsonb not null default '{}',
  -- Facts that change slowly, and when they were read.
  usual           jsonb not null default '{}',
  usual_at        timestamptz not null default '-infinity',
  -- The node's own requests to the origin while it seems to be away.
  origin_good_at  timestamptz,
  origin_bad_at   timestamptz,
  -- Whether the name leads here: `led_here_at` is the last time it did, `lost_at` the first time since that it did not.
  dns_checked_at    timestamptz not null default now(),
  led_here_at     timestamptz,
  lost_at         timestamptz,
  lost_again_at   timestamptz,
  dns_state       text
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- When the fleet last evaluated all domains.
create table evaluation (
  one_row    boolean primary key default true check (one_row),
  started_at timestamptz not null
);
insert into evaluation (started_at) values ('-infinity');

create table incident (
  id          bigint generated always as identity primary key,
  account_id  integer not null references account on delete cascade,
  domain_id   integer not null references domain on delete cascade,
  kind        text not null,
  state       text not null default 'open' check (state in ('open', 'resolved')),
  since       timestamptz not null,
  opened_at   timestamptz not null default clock_timestamp(),
  resolved_at timestamptz,
  resolution  text,
  summary     text not null,
  evidence    json not null
);
create unique index incident_open on incident (domain_id, kind) where state = 'open';
create index incident_list on incident (account_id, (state = 'open'), id);
create index incident_domain on incident (domain_id, id);
create index incident_reminder on incident (opened_at) where state = 'open';
create index incident_age on incident (opened_at);

create function incident_json(i incident, domain_name text) returns json language sql stable as $$
  select json_build_object('id', i.id, 'domain', domain_name, 'kind', i.kind, 'state', i.state,
    'since', iso_time(i.since), 'opened_at', iso_time(i.opened_at), 'resolved_at', iso_time(i.resolved_at),
    'resolution', i.resolution, 'summary', i.summary, 'evidence', i.evidence)
$$;

-- Who is told: an event endpoint (`address` is its URL), or an e-mail address. Those whose `state` is `confirmed` get
-- events; of incidents, only of `kinds`. `key_sealed`: signs deliveries, or derives the tokens of links in e-mails.
create table channel (
  id              integer generated always as identity primary key,
  account_id      integer not null references account on delete cascade,
  format          text not null check (format in ('standard', 'slack', 'mail')),
  address         text not null,
  state           text not null default 'confirmed'
                  check (state in ('off', 'waiting', 'confirmed', 'unsubscribed', 'refused')),
  events          text[] not null default '{incident.opened,incident.updated,incident.resolved,mail.reminder}',
  -- Null: all.
  kinds           text[],
  key_sealed      bytea,
  created_at      timestamptz not null default clock_timestamp(),
  -- Of endpoints: since when no delivery succeeded, and how many attempts failed since.
  failing_since   timestamptz,
  failures        integer not null default 0,
  switched_off_at timestamptz,
  -- Of e-mail addresses: a confirmation link counts until then, the one with this number only.
  confirm_until   timestamptz,
  confirm_round   integer not null default 0
);
create index channel_account on channel (account_id, id);
create unique index channel_email on channel (account_id, lower(address)) where format = 'mail';

-- Confirmation e-mails of the last day, for their limits. No foreign key: a deleted account still counts.
create table confirmation (
  id         bigint generated always as identity primary key,
  email      text not null,
  account_id integer not null,
  sent_at    timestamptz not null default clock_timestamp()
);
create index confirmation_age on confirmation (sent_at);

-- `id` is the `webhook-id`. Types `mail.*` are e-mails only. No foreign key to the domain: its events stay visible.
create table event (
  id          text primary key default 'evt_' || replace(gen_random_uuid()::text, '-', ''),
  account_id  integer not null references account on delete cascade,
  domain_id   integer,
  type        text not null,
  key         text unique,
  body        text not null,
  created_at  timestamptz not null default clock_timestamp()
);
create index event_account on event (account_id, created_at);
create index event_age on event (created_at);

-- An event on its way to a channel. While it is sent it has a `lease`, and `due_at` is the end of the lease: then another
-- node sends it. Incidents that wait for one e-mail address are sent as one e-mail, with one lease.
create table delivery (
  id              bigint generated always as identity primary key,
  event_id        text not null references event on delete cascade,
  account_id      integer not null references account on delete cascade,
  domain_id       integer,
  incident_id     bigint,
  channel_id      integer not null references channel on delete cascade,
  state           text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed', 'cancelled')),
  attempts        integer not null default 0,
  created_at      timestamptz not null default clock_timestamp(),
  due_at          timestamptz not null default clock_timestamp(),
  lease           uuid,
  last_attempt_at timestamptz,
  status          integer,
  error           text,
  answer          text,
  ms              integer,
  replay_of       bigint
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index delivery_due on delivery (account_id, due_at) where state = 'waiting';
create index delivery_line on delivery (account_id, id) where state = 'waiting';
create index delivery_turn on delivery (channel_id, due_at, id) where state = 'waiting';
create index delivery_order on delivery (channel_id, incident_id, id) where state = 'waiting' and incident_id is not null;
create index delivery_leased on delivery (account_id) where lease is not null;
create index delivery_channel on delivery (channel_id, account_id, id);
create index delivery_event on delivery (event_id);
create index delivery_domain on delivery (domain_id) where state = 'waiting';
create index delivery_waiting on delivery (created_at) where state = 'waiting';

-- A delivery with what it takes to send it. `seconds`: Unix time of the attempt.
create view claimed as
  select d.id, d.lease, d.account_id, d.channel_id, d.attempts, d.replay_of, d.event_id, v.type, v.body,
         extract(epoch from d.last_attempt_at - d.created_at)::float8 * 1000 as age_ms,
         floor(extract(epoch from d.last_attempt_at))::float8 as seconds,
         a.plan, c.address, c.format, c.state as channel_state, c.key_sealed, c.confirm_round
    from delivery d join event v on v.id = d.event_id join account a on a.id = d.account_id
    join channel c on c.id = d.channel_id;

create function event_body(type text, data json) returns text language sql volatile as $$
  select format('{"type":%s,"timestamp":%s,"data":%s}', to_json(type), to_json(iso_time(clock_timestamp())), data)
$$;

-- Records an event and its deliveries, unless an event has this key. `to_channel`: only this one, whatever its state. An account keeps the newest 10,000 waiting deliveries.
create function record_event(
  of_account integer, of_domain integer, of_incident bigint, of_type text, of_key text, data json,
  to_channel integer default null
) returns void language plpgsql as $$
declare
  made text;
begin
  insert into event (account_id, domain_id, type, key, body)
  values (of_account, of_domain, of_type, of_key, event_body(of_type, data))
  on conflict (key) do nothing
  returning id into made;
  if made is null then return; end if;

  insert into delivery (event_id, account_id, domain_id, incident_id, channel_id)
  select made, of_account, of_domain, of_incident, c.id from channel c
   where c.account_id = of_account
     and case when to_channel is not null then c.id = to_channel
              else c.state = 'confirmed' and of_type = any (c.events)
                   and (of_incident is null or (select kind = any (c.kinds) is not false from incident where id = of_incident)) end;
  update delivery set state = 'cancelled'
   where id in (select id from delivery where account_id = of_account and state = 'waiting' order by id desc offset 10000);
  perform pg_notify('delivery', '');
end
$$;

-- Nodes with an open dashboard hear of it.
create function record_incident(of_incident bigint, of_type text, of_key text) returns void language sql as $$
  select pg_notify('incident', json_build_object('account', i.account_id, 'data', json_build_object(
           'id', i.id, 'domain', d.custom_domain, 'kind', i.kind, 'state', i.state))::text),
         record_event(i.account_id, i.domain_id, i.id, of_type, of_key,
                      json_build_object('incident', incident_json(i, d.custom_domain)))
    from incident i join domain d on d.id = i.domain_id where i.id = of_incident
$$;

create function resolve_incident(of_incident bigint, why text) returns void language plpgsql as $$
begin
  update incident set state = 'resolved', resolved_at = clock_timestamp(), resolution = why
   where id = of_incident and state = 'open';
  if found then
    perform record_incident(of_incident, 'incident.resolved', 'incident ' || of_incident || ' resolved');
  end if;
end
$$;

-- The first good answer of each domain. Domains that are live already are not written.
create function note_live(domains integer[]) returns void language sql as $$
  with first as (
    update health h set live_at = clock_timestamp()
     where h.domain_id in (select domain_id from health where domain_id = any (domains) and live_at is null
                            order by domain_id for update)
       and h.live_at is null
    returning h.domain_id)
  select record_event(d.account_id, d.id, null, 'domain.live', 'live ' || d.id,
                      json_build_object('domain', d.custom_domain))
    from first join domain d on d.id = first.domain_id
$$;

-- Claims deliveries for a node with `slots` free places: accounts take turns, beginning after `after_account`; an account
-- has at most 4 attempts under way over all nodes, an endpoint 3, a failing one 1, an address 1. All rows with one lease
-- are one attempt: an event for an endpoint, or an e-mail. Deliveries of an incident to an endpoint wait for the earlier
-- ones; those to an address wait until the oldest has waited for `gather`.
create function claim_deliveries(slots integer, after_account integer, by_mail boolean, gather interval, lease interval)
returns setof claimed language plpgsql
-- Statistics lag behind what waits: only the indexes are right, in their own order.
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_incremental_sort = off
as $$
#variable_conflict use_column
declare
  moment  constant timestamptz := clock_timestamp();
  account integer := after_account;
  first_due timestamptz;
  target  record;
  chosen  bigint[];
  unit    uuid;
  room    integer;
  taken   integer;
begin
  perform pg_advisory_xact_lock(7228, 0);
  while slots > 0 loop
    select d.account_id, d.due_at into account, first_due from delivery d
     where d.state = 'waiting' and d.account_id > account order by d.account_id, d.due_at limit 1;
    exit when account is null;
    continue when first_due > moment;
    select least(slots, 4 - count(distinct d.lease)) into room from delivery d
     where d.account_id = account and d.lease is not null and d.due_at > moment;
    for target in
      select c.id, c.format = 'mail' as is_mail,
             case when c.format = 'mail' or c.failing_since is not null then 1 else 3 end
             - (select count(distinct d.lease) from delivery d
                 where d.account_id = account and d.lease is not null and d.due_at > moment and d.channel_id = c.id) as free
        from channel c where c.account_id = account and (by_mail or c.format <> 'mail')
       order by free desc, id
    loop
      exit when room <= 0;
      continue when target.free <= 0;
      if target.is_mail then
        -- What was tried together is tried again together, so that a repeated e-mail is the same.
        select case when bool_or(d.incident_id is null) then array[min(d.id) filter (where d.incident_id is null)]
                    when bool_or(d.attempts > 0) then array_agg(d.id) filter (where d.attempts > 0)
                    when min(d.created_at) <= moment - gather then array_agg(d.id) end into chosen
          from delivery d
         where d.channel_id = target.id and d.state = 'waiting' and d.due_at <= moment;
      else
        chosen := array(
          select d.id from delivery d
           where d.channel_id = target.id and d.state = 'waiting' and d.due_at <= moment
             and not exists (select from delivery o
                              where o.channel_id = d.channel_id and o.incident_id = d.incident_id
                                and o.state = 'waiting' and o.id < d.id)
           order by d.due_at, d.id limit least(room, target.free) for update skip locked);
      end if;
      continue when coalesce(cardinality(chosen), 0) = 0;
      unit := case when target.is_mail then gen_random_uuid() end;
      update delivery d
         set lease = coalesce(unit, gen_random_uuid()), due_at = moment + claim_deliveries.lease,
             attempts = d.attempts + 1, last_attempt_at = moment
       where d.id = any (chosen);
      return query select * from claimed where id = any (chosen) order by id;
      taken := case when target.is_mail then 1 else cardinality(chosen) end;
      room := room - taken;
      slots := slots - taken;
    end loop;
  end loop;
end
$$;

-- The rules forget what did not last long enough yet, and remember when each open incident ended.
create function stop_following(of_domain integer) returns void language plpgsql as $$
declare
  ended constant json := json_build_object('resolvedMs', floor(extract(epoch from clock_timestamp()) * 1000));
begin
  update health set watch =
      (select coalesce(jsonb_object_agg(key, value - '{heldMs,sinceMs,base,signMs}'::text[]), '{}') from jsonb_each(watch))
      || (select coalesce(jsonb_object_agg(kind, ended), '{}') from incident where domain_id = of_domain and state = 'open')
   where domain_id = of_domain;
  perform resolve_incident(id, 'inactive') from incident where domain_id = of_domain and state = 'open' order by id;
end
$$;

create function follow_domain() returns trigger language plpgsql as $$
begin
  case tg_op
    when 'INSERT' then insert into health (domain_id) values (new.id);
    when 'DELETE' then update delivery set state = 'cancelled' where domain_id = old.id and state = 'waiting';
    when 'UPDATE' then perform stop_following(new.id);
  end case;
  return null;
end
$$;
create trigger domain_is_followed after insert or delete on domain
  for each row execute function follow_domain();
create trigger domain_inactive_resolves after update of is_active on domain
  for each row when (old.is_active and not new.is_active) execute function follow_domain();

create function expect_channel() returns trigger language plpgsql as $$
begin
  insert into channel (account_id, format, address) values (new.id, 'mail', new.email);
  return null;
end
$$;
create trigger account_has_channel after insert on account
  for each row execute function expect_channel();


------------------------------------------------------------------------------------------------------------------------
-- 11 Site files, redirects and crawler policy
------------------------------------------------------------------------------------------------------------------------

-- What owners changed, the last 20 of each kind. The newest robots.txt and list of redirects are the ones in force;
-- policy and rules are in force as settings of the domain. src/site-files/versions.ts.
create table site_version (
  id         integer generated always as identity primary key,
  domain_id  integer not null references domain on delete cascade,
  kind       text not null check (kind in ('robots', 'redirects', 'policy', 'rules')),
  content    json not null,
  author     text not null,
  created_at timestamptz not null default clock_timestamp()
);
create index site_version_newest on site_version (domain_id, kind, id);

-- How often each redirect was used; `path` is its normalised `from`.
create table redirect_use (
  domain_id    integer not null references domain on delete cascade,
  path         text collate "C" not null,
  hits         bigint not null,
  last_used_at timestamptz not null,
  primary key (domain_id, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- The origin's robots.txt as it was last fetched or passed on; it is served for a day while the origin fails.
create table origin_robots (
  domain_id  integer primary key references domain on delete cascade,
  -- The origin that gave it: host and port.
  origin     text not null,
  text       text not null,
  fetched_at timestamptz not null
);

-- What a generated sitemap says of a page. A row survives purges and the page's expiry. src/site-files/page-facts.ts.
create table page_fact (
  domain_id   integer not null references domain on delete cascade,
  path        text collate "C" not null,
  -- SHA-256 of title, description and text.
  text_hash   bytea not null,
  changed_at  timestamptz not null,
  rendered_at timestamptz not null,
  -- Indexable, and stored with status 200.
  is_listed   boolean not null,
  -- When it appeared, changed or went; null: search engines have been told, or are not to be.
  untold_at   timestamptz,
  -- A redirect began or ceased to cover it: told although no sitemap may list it now.
  is_covered  boolean not null default false,
  primary key (domain_id, path)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index page_fact_listed on page_fact (domain_id, path) include (changed_at, rendered_at) where is_listed;
create index page_fact_untold on page_fact (domain_id, untold_at) where untold_at is not null;

-- The last batch of a domain. A node sends under a lease: until `next_at` no other one does.
create table indexnow_state (
  domain_id     integer primary key references domain on delete cascade,
  next_at       timestamptz not null,
  sent_at       timestamptz,
  -- The answer; null: none came.
  status        smallint,
  failing_since timestamptz
) with (fillfactor = 50);
