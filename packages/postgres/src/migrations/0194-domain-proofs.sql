-- Proofs that a name is an account's own, and who had a name before.
create table domain_proof (
  domain_id  integer primary key references domain on delete cascade,
  account_id integer not null references account on delete cascade,
  state      text not null check (state in ('not-asked', 'asked', 'proven', 'lost')),
  served     boolean not null,
  reason     text check (reason in ('former', 'takeover', 'required')),
  method     text check (method in ('dns', 'file', 'meta', 'traffic', 'operator')),
  asked_at   timestamptz,
  checked_at timestamptz,
  deadline   timestamptz,
  error      text,
  missed_at  timestamptz
);
create index domain_proof_account on domain_proof (account_id);

create table domain_former (
  id         integer generated always as identity primary key,
  name_hash  bytea not null,
  account_id integer references account on delete set null,
  ended_at   timestamptz not null,
  addresses  text[] not null default '{}',
  unique (name_hash, account_id)
);
create index domain_former_account on domain_former (account_id);
create index domain_former_age on domain_former (ended_at);

create table domain_proof_mark (
  id          integer generated always as identity primary key,
  mark_hash   bytea not null unique,
  is_received boolean not null default false,
  expires_at  timestamptz not null
);
create index domain_proof_mark_expiry on domain_proof_mark (expires_at);

insert into domain_former (name_hash, account_id, ended_at)
select sha256(convert_to(e.domain, 'UTF8')), a.id, max(e.at)
  from audit_entry e left join account a on a.id = e.account_id
 where e.action = 'domain.deleted' and e.domain is not null and e.at > now() - interval '400 days'
 group by 1, 2;
