-- Events are recorded in the transaction of what they report, each with a unique key, so that several nodes record it
-- once. Nodes send deliveries under a lease.
--
-- Advisory lock: (7228, 0) one claim of deliveries at a time.

-- What the rules remember of a domain between two evaluations; packages/service/src/notifications/incidents/.
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

-- Who takes care of an incident, by e-mail address or name of an API key: no reminders are sent any more. Apart from `incident`: without
-- statistics, PostgreSQL estimates the number of its rows by their width, and would sort the list.
create table incident_acknowledged (
  incident_id     bigint primary key references incident on delete cascade,
  acknowledged_by text not null,
  acknowledged_at timestamptz not null default clock_timestamp(),
  note            text
);

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
  confirm_round   integer not null default 0,
  -- Of e-mail addresses: ids of the domains that it is told of; null: all. Ids of deleted domains stay and tell nothing.
  domains         integer[]
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
  replay_of       bigint,
  -- The Message-ID of the e-mail that had it; null: an endpoint, or not sent.
  letter          text
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
