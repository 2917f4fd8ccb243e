-- Whose order it was, as long as it counts in the fleet's budget: accounts take turns at that. Null: a node of before.
-- No reference: an account that is deleted has spent it all the same.
alter table acme_order add column account_id integer;
