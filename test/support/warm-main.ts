import ipaddr from 'ipaddr.js'

import pg from 'pg'

import { systemClock } from '../../src/clock.ts'
import { silentLog } from '../../src/log.ts'
import { createAddressGuard } from '../../src/outbound/address-guard.ts'
import { createClient } from '../../src/outbound/client/pool.ts'
import { readWarmSitemaps } from '../../src/queue/warm/warm-read.ts'

// A node that reads the sitemaps of a warm run, in its own process, to be killed.

const { connection, leaseMs } = JSON.parse(process.argv[2]!) as {
  connection: pg.ClientConfig
  leaseMs: number
}
const get = {
  origins: createClient(createAddressGuard([{ cidr: ipaddr.parseCIDR('127.0.0.0/8'), port: null }])),
  userAgent: 'Prepaint/0.0.0-test',
}
const pool = new pg.Pool(connection).on('error', () => {})
await readWarmSitemaps(
  { pool, get, clock: systemClock, log: silentLog(), leaseMs },
  new AbortController().signal,
)
process.exit(0)
