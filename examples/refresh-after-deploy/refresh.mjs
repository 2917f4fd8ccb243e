#!/usr/bin/env node
// Has Prepaint render pages of a site again, after a deploy.
//
//   node refresh.mjs --all           every page that Prepaint knows of
//   node refresh.mjs / /shop ...     these pages; what is stored of them is deleted first
//
// Environment:
//   PREPAINT_URL            address of Prepaint's API, such as https://prepaint.example.com
//   PREPAINT_TOKEN          webhook token of the domain (prepaint token create)
//   PREPAINT_WAIT_SECONDS   how long it may take to try again when it is told to come later; 300 unless set
//
// Status: 0 queued, 1 refused, 2 called wrongly, 3 not now (not reached, rate limit, too busy).
// Needs Node 18 or newer, and nothing else.
import { setTimeout as sleep } from 'node:timers/promises'

/** As many paths as one request may name. */
const BATCH = 20
const ATTEMPTS = 6
const ANSWER_WITHIN_MS = 30_000

function fail(status, text) {
  console.error(`refresh.mjs: ${text}`)
  process.exit(status)
}

function readArguments(args) {
  if (args.length === 0) fail(2, 'name the pages to refresh, such as / /shop, or --all')
  if (args.length === 1 && args[0] === '--all') return [{ all: true }]
  for (const path of args) {
    if (path === '--all') fail(2, 'give paths or --all, not both')
    if (path.startsWith('-')) fail(2, `unknown option ${path}`)
    if (!path.startsWith('/')) fail(2, `a path begins with /, and this does not: ${path}`)
    if (/\p{Cc}/u.test(path)) fail(2, 'a path holds a control character')
  }
  const bodies = []
  for (let at = 0; at < args.length; at += BATCH) bodies.push({ urls: args.slice(at, at + BATCH) })
  return bodies
}

function readEnvironment({ PREPAINT_URL: url, PREPAINT_TOKEN: token, PREPAINT_WAIT_SECONDS: wait }) {
  if (!url) fail(2, 'PREPAINT_URL is not set')
  if (!URL.canParse(url)) fail(2, `PREPAINT_URL is not an address: ${url}`)
  // Secrets are often pasted with a line break at their end.
  if (!token?.trim()) fail(2, 'PREPAINT_TOKEN is not set')
  if (wait && !/^\d+$/.test(wait)) fail(2, `PREPAINT_WAIT_SECONDS is not a number of seconds: ${wait}`)
  return { url: url.replace(/\/+$/, ''), token: token.trim(), waitMs: Number(wait || 300) * 1_000 }
}

/** One request. Status 0: there was no answer, and `text` says why. */
async function post({ url, token }, body) {
  try {
    const answer = await fetch(`${url}/api/webhook/refresh`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    const retryAfterMs = pauseOf(answer.headers.get('retry-after'))
    return { status: answer.status, text: await answer.text(), retryAfterMs }
  } catch (error) {
    return { status: 0, text: error.cause?.message || error.cause?.code || error.message, retryAfterMs: null }
  }
}

/** Seconds, or a date (RFC 9110, 10.2.3). */
function pauseOf(retryAfter) {
  if (retryAfter === null) return null
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

/** Until it is queued: waits as long as Retry-After says, and tries again. */
async function send(settings, body) {
  const endMs = Date.now() + settings.waitMs
  for (let attempt = 1; ; attempt++) {
    const { status, text, retryAfterMs } = await post(settings, body)
    if (status === 200) return console.log(text)
    if (status !== 0 && status !== 429 && status < 500) fail(1, `refused (${status}): ${text}`)
    const pauseMs = retryAfterMs ?? 1_000 * 2 ** (attempt - 1)
    if (attempt === ATTEMPTS || Date.now() + pauseMs > endMs) {
      fail(3, status === 0 ? `no answer from ${settings.url}: ${text}` : `not now (${status}): ${text}`)
    }
    console.error(`refresh.mjs: ${text}; trying again in ${Math.ceil(pauseMs / 1_000)} s`)
    await sleep(pauseMs)
  }
}

const bodies = readArguments(process.argv.slice(2))
const settings = readEnvironment(process.env)
for (const body of bodies) await send(settings, body)
