-- SPDX-License-Identifier: MIT
-- What wrk asks of the shop: arguments MODE (single: the list of categories; mixed: all pages but the sale), the time
-- between an answer and the next request of a connection in milliseconds (0 without it; "~20": by chance, 20 in the mean),
-- a seed, and the number of items. Prints one line of JSON at the end.

local number = 0
local mode, pause_ms, by_chance, items

function setup(thread)
  thread:set("number", number)
  number = number + 1
end

local function pause()
  return by_chance and -math.log(1 - math.random()) * pause_ms or pause_ms
end

function init(arguments)
  mode = arguments[1] or "mixed"
  local pause_text = arguments[2] or "0"
  by_chance = pause_text:sub(1, 1) == "~"
  pause_ms = tonumber(by_chance and pause_text:sub(2) or pause_text)
  items = tonumber(arguments[4] or 20000)
  math.randomseed(tonumber(arguments[3] or 1) * 64 + number)
  delay = pause_ms > 0 and pause or nil
end

local words = { "lamp", "chair", "table", "vase", "clock", "radio", "glass", "brush" }

local pages = {
  { 15, function() return "/categories" end },
  { 30, function() return "/category?id=" .. math.random(20) .. "&page=" .. math.random(0, 20) end },
  { 15, function() return "/search?word=" .. words[math.random(#words)] .. "%20no.%20" .. math.random(9) end },
  { 25, function() return "/item?id=" .. math.random(items) end },
  { 8, function() return "/bids?id=" .. math.random(items) end },
  { 7, function() return "/user?id=" .. math.random(items / 10) end },
}

local function mixed()
  local chosen = math.random(100)
  for _, page in ipairs(pages) do
    chosen = chosen - page[1]
    if chosen <= 0 then
      return page[2]()
    end
  end
end

function request()
  return wrk.format("GET", mode == "single" and "/categories" or mixed())
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    '{"requests": %d, "seconds": %.6f, "mean": %.9f, "p50": %.9f, "p99": %.9f, "errors": %d}',
    summary.requests, summary.duration / 1e6, latency.mean / 1e6, latency:percentile(50) / 1e6,
    latency:percentile(99) / 1e6,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
