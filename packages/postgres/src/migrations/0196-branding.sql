-- How an account looks to its clients, and which domains an address is told of.
create table account_branding (
  account_id    integer primary key references account on delete cascade,
  name          text,
  colour        text,
  sender_name   text,
  show_prepaint boolean not null default true,
  logo          bytea,
  logo_type     text check (logo_type in ('image/png', 'image/webp')),
  logo_key      text unique,
  constraint account_branding_logo check ((logo is null) = (logo_key is null) and (logo is null) = (logo_type is null))
);

alter table channel add column domains integer[];
