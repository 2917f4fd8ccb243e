-- Columns named `sealed` are encrypted with the master key, which is not in the database.

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

-- When each domain's next certificate is ordered, and why the last attempt failed. A task (`certificate-order`) is due then.
create table certificate_order (
  domain_id   integer primary key references domain on delete cascade,
  next_at     timestamptz not null default now(),
  -- The present certificate is good until then; null: there is none.
  renew_at    timestamptz,
  failures    integer not null default 0,
  -- The kind of the last failure: packages/service/src/certificates/orders/back-off.ts.
  failure     text,
  reason      text,
  failed_at   timestamptz,
  -- Nodes of 0.2.0 claim orders by it. Both go in the release after 0.3.0.
  lease       uuid,
  lease_until timestamptz
) with (fillfactor = 80);
create index certificate_order_next on certificate_order (next_at);

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
