-- The current or last warm of each domain. Its states: packages/pages/src/queue/warm/warm.ts.
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
  -- Known paths once all sitemaps were read: queued, forbidden by robots.txt, passed by a rule of the domain, redirected, or fresh.
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
  ended_at    timestamptz,
  redirected  integer not null default 0
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
