-- The last warm of each domain, under way or over; src/queue/warm/warm.ts has its states. What an older version asks for
-- stays in `warm_run`, where newer nodes take it from, and older ones never see what stands here.
create sequence warm_number;
create table warm (
  domain_id   integer primary key references domain on delete cascade,
  -- Another one at each start: jobs of an earlier run count for nobody.
  run         bigint not null default nextval('warm_number'),
  which       text not null default 'all' check (which in ('all', 'outdated')),
  state       text not null default 'reading'
              check (state in ('reading', 'queueing', 'rendering', 'done', 'cancelled', 'failed')),
  -- When it was paused; null: it goes on. `paused`: by whom, or for want of what.
  paused_at   timestamptz,
  reason      text,
  -- The site's robots.txt, as it was read at the start; null: not read yet.
  robots      text,
  -- Known paths up to here have been looked at.
  after_path  text collate "C" not null default '',
  -- Known paths when all sitemaps were read, of which `queued` were queued, and the others left out by the site's
  -- robots.txt (`forbidden`), by a rule of the domain (`passed`), or because their copies are good (`fresh`).
  known       integer not null default 0,
  queued      integer not null default 0,
  forbidden   integer not null default 0,
  passed      integer not null default 0,
  fresh       integer not null default 0,
  -- The node that reads sitemaps holds a lease by the database's clock.
  lease       uuid,
  lease_until timestamptz,
  started_at  timestamptz not null default now(),
  moved_at    timestamptz not null default now(),
  ended_at    timestamptz
);
create index warm_under_way on warm (moved_at) where state in ('reading', 'queueing', 'rendering');

-- Apart from `warm`: renders that end count here, and never wait for the step that queues.
create table warm_tally (
  domain_id integer primary key references domain on delete cascade,
  run       bigint not null,
  done      integer not null default 0,
  -- Of the done: the snapshot was the same as before.
  unchanged integer not null default 0,
  failed    integer not null default 0
) with (fillfactor = 10);

-- Sitemaps that a run reads: one that was begun and not ended is read again by the next node.
create table warm_sitemap (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  -- Indexes above it.
  depth     smallint not null,
  -- `null`: to be read. Else how many entries were of this site, or why it could not be read.
  entries   integer,
  failure   text,
  primary key (domain_id, path)
);

-- What a pause took back from the queue.
create table warm_held (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  primary key (domain_id, path)
);

-- The run that a job counts for.
alter table job add column warm bigint;

-- However a job ends, and at whatever version of a node. After the statement: every row of jobs that it touches is
-- locked by then, so nobody waits for a job while he holds a tally.
create function count_warmed() returns trigger language plpgsql as $$
begin
  update warm_tally set
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

-- When a page last read otherwise; null: when it was rendered. Its build, as src/render/visit/recorder.ts names it, and the
-- one it had before that. A deploy is seen when several pages agree: src/queue/upkeep/deploy.ts.
alter table page
  add column changed_at           timestamptz,
  add column application          text,
  add column previous_application text;
create index page_application on page (domain_id, application, rendered_at) where stale_since is null;

-- What a sitemap says of a page's last change.
alter table known_path add column lastmod timestamptz;

-- Refreshes of a domain that no crawler waited for, and deploys that were acted on; src/queue/upkeep/refresh-ahead.ts.
create table freshness (
  domain_id integer primary key references domain on delete cascade,
  next_at   timestamptz not null default now(),
  -- Refreshes queued ahead on that day (UTC).
  day       date,
  ahead     integer not null default 0,
  deploys   timestamptz[] not null default '{}'
) with (fillfactor = 50);
create index freshness_next on freshness (next_at);

-- What a claimed job needs of its domain at the moment of the claim. Volatile, so that it has a snapshot of its own: that of
-- the statement which claims is older than the lock it waits for, and settings that were saved meanwhile did not count.
create function claim_details(for_domain integer, for_job uuid)
returns table (visitor jsonb, query jsonb, origin_cache_control text, is_probe boolean)
language sql volatile as $$
  select settings -> 'render', settings -> 'query', settings ->> 'origin_cache_control',
         exists (select from probe where job_id = for_job)
    from domain where id = for_domain
$$;
