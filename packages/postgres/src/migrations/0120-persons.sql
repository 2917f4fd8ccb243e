-- Persons, members and roles. An account of before becomes an account and one person of the same e-mail, its owner; an
-- operator's person is an operator. Sessions and passwords go on. Nodes of 0.2.0 that run beside newer ones keep the
-- sessions that they have; they sign nobody in by password, because passwords leave `account`.
alter table account add column name text;
alter table account drop constraint account_email_key;
create index account_email on account (email);

-- One human who signs in. `password_hash` is of packages/service/src/accounts/sign-in/passwords.ts; null: no password.
create table person (
  id            integer generated always as identity primary key,
  email         text not null unique check (email = lower(email)),
  name          text,
  locale        text,
  password_hash text,
  is_operator   boolean not null default false,
  created_at    timestamptz not null default now()
);

-- A person in an account. `domains`: ids of the domains that the member is limited to; null: all of the account.
-- Ids of deleted domains stay in it and reach nothing. Sessions that began before `sessions_ended_at` cannot enter.
create table member (
  id                integer generated always as identity primary key,
  account_id        integer not null references account on delete cascade,
  person_id         integer not null references person on delete cascade,
  role              text not null check (role in ('client', 'viewer', 'editor', 'admin', 'owner')),
  domains           integer[],
  joined_at         timestamptz not null default now(),
  last_seen_at      timestamptz,
  sessions_ended_at timestamptz,
  unique (account_id, person_id),
  constraint member_domains check (case when domains is null then role <> 'client' else role in ('client', 'viewer', 'editor') end)
);
create index member_person on member (person_id);

-- `token_hash`: SHA-256 of the token in the session cookie. `account_id`: the account that was chosen last.
create table session (
  id         integer generated always as identity primary key,
  person_id  integer not null references person on delete cascade,
  account_id integer references account on delete set null,
  token_hash bytea not null unique,
  address    text not null,
  user_agent text not null,
  created_at timestamptz not null,
  used_at    timestamptz not null,
  expires_at timestamptz not null
);
create index session_person on session (person_id);
create index session_account on session (account_id);
create index session_expiry on session (expires_at);

-- A person who is to join an account, with `role` and `domains` as of `member`. Without `account_id` it is the operator's
-- and makes an account, with `plan` and `name`. It goes when it is accepted.
create table invitation (
  id          integer generated always as identity primary key,
  account_id  integer references account on delete cascade,
  email       text not null check (email = lower(email)),
  role        text not null default 'owner' check (role in ('client', 'viewer', 'editor', 'admin', 'owner')),
  domains     integer[],
  plan        text,
  name        text,
  is_operator boolean not null default false,
  invited_by  text not null,
  created_at  timestamptz not null,
  expires_at  timestamptz not null
);
create index invitation_account on invitation (account_id);
create index invitation_expiry on invitation (expires_at);

-- Links that work once: `first` (the operator of a new installation), `invitation` (a new account), `member` (joining an
-- account), `reset` (a forgotten password). Only the hash is stored.
create table link (
  id            integer generated always as identity primary key,
  token_hash    bytea not null unique,
  kind          text not null check (kind in ('first', 'invitation', 'member', 'reset')),
  plan          text,
  invitation_id integer references invitation on delete cascade,
  person_id     integer references person on delete cascade,
  created_at    timestamptz not null default now(),
  expires_at    timestamptz not null
);
create index link_invitation on link (invitation_id);
create index link_person on link (person_id);
create index link_expiry on link (expires_at);

alter table api_key add column created_by text;
alter table api_key add column person_id integer;

insert into person (email, password_hash, is_operator, created_at)
  select email, password_hash, role = 'operator', created_at from account order by id;
insert into member (account_id, person_id, role, joined_at)
  select a.id, p.id, 'owner', a.created_at from account a join person p on p.email = a.email order by a.id;
-- A key of before counts as made by the owner, whose removal can revoke it.
update api_key k set created_by = p.email, person_id = p.id
  from member m join person p on p.id = m.person_id where m.account_id = k.account_id;
update account set password_hash = null, role = 'owner' where password_hash is not null or role <> 'owner';
insert into session (person_id, account_id, token_hash, address, user_agent, created_at, used_at, expires_at)
  select m.person_id, s.account_id, s.token_hash, s.address, s.user_agent, s.created_at, s.used_at, s.expires_at
    from sign_in_session s join member m on m.account_id = s.account_id order by s.id;

do $$
declare
  old record;
  made integer;
begin
  for old in select * from sign_in_link where kind = 'invitation' and email is not null order by id loop
    insert into invitation (email, plan, is_operator, invited_by, created_at, expires_at)
      values (old.email, old.plan, old.role = 'operator', 'operator', old.created_at, old.expires_at) returning id into made;
    insert into link (token_hash, kind, invitation_id, created_at, expires_at)
      values (old.token_hash, 'invitation', made, old.created_at, old.expires_at);
  end loop;
end
$$;
insert into link (token_hash, kind, plan, created_at, expires_at)
  select token_hash, kind, plan, created_at, expires_at from sign_in_link where kind = 'first';
insert into link (token_hash, kind, person_id, created_at, expires_at)
  select l.token_hash, l.kind, m.person_id, l.created_at, l.expires_at
    from sign_in_link l join member m on m.account_id = l.account_id where l.kind = 'reset';
delete from sign_in_link;
