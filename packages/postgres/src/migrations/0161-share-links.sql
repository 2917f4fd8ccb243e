-- Links that show some domains of an account.
create table share_link (
  id           integer generated always as identity primary key,
  account_id   integer not null references account on delete cascade,
  name         text not null,
  token_hash   bytea not null unique,
  domains      integer[] not null,
  parts        text[] not null,
  created_at   timestamptz not null,
  expires_at   timestamptz not null,
  last_used_at timestamptz,
  created_by   text
);
create index share_link_account on share_link (account_id);
create index share_link_expiry on share_link (expires_at);
