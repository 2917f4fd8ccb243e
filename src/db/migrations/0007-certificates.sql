-- Certificates of domains, how getting one goes, and what proves to a CA that a name is ours.
-- Whatever is named `sealed` is encrypted with the master key, which is not in the database.

-- Which master key: two nodes with different ones find out here. docs/decisions/ says more.
create table master_key (
  one_row boolean primary key default true check (one_row),
  id      text not null
);

-- The certificate that is served. `acme`: ordered by us; `own`: supplied by the owner.
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

-- Every domain has one: when the next certificate is to be ordered, and why the last attempt came to nothing.
-- lease: the node that is at it holds it, and its result counts only while it does.
create table certificate_order (
  domain_id   integer primary key references domain on delete cascade,
  -- Looked at from then on; `renew_at`: a certificate that is there is good until then (null: there is none).
  next_at     timestamptz not null default now(),
  renew_at    timestamptz,
  failures    integer not null default 0,
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
insert into certificate_order (domain_id) select id from domain;

-- Answers to a CA's questions; any node gives them. At most one of a kind at a time: the lease sees to that.
create table acme_challenge (
  domain_id         integer not null references domain on delete cascade,
  kind              text not null check (kind in ('http-01', 'tls-alpn-01')),
  token             text not null,
  key_authorization text not null,
  expires_at        timestamptz not null,
  primary key (domain_id, kind)
);

-- Our account at a CA, by the address of its directory.
create table acme_account (
  directory  text primary key,
  key_sealed bytea not null,
  created_at timestamptz not null default now()
);

-- One row an order: the budget of the whole fleet is counted here.
create table acme_order (
  ordered_at timestamptz not null
);
create index acme_order_time on acme_order (ordered_at);

-- Whether a certificate is in use is seen in `certificate`: a column beside it could disagree.
alter table domain drop column ssl_enabled;
