-- Persons who came by a link that their inviter held, and have not proven since to have the address.
alter table person add column is_unproven boolean not null default false;
alter table link add column is_held boolean not null default false;
