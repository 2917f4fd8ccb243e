-- For wrk: any of the first pages of any of the first domains. Arguments: how many of each.
local domains, pages

function init(args)
  domains, pages = tonumber(args[1]), tonumber(args[2])
  math.randomseed(42)
end

function request()
  wrk.headers["Host"] = "d" .. math.random(domains) .. ".example"
  return wrk.format(nil, "/p" .. math.random(pages))
end
