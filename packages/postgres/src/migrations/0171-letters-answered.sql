-- The Message-ID of the letter in which an event was sent, so that later letters of an incident answer the first one.
alter table delivery add column letter text;
