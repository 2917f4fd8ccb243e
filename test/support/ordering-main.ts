// A node that orders certificates, to be killed. Arguments: database URL, the CA's directory URL and root.

import { createTransport } from '../../src/certificates/acme/transport.ts'
import { startOrdering } from '../../src/certificates/orders/ordering.ts'
import { parseMasterKeys } from '../../src/certificates/vault/master-key.ts'
import { createVault } from '../../src/certificates/vault/vault.ts'
import { createPool } from '../../src/db/database.ts'
import { createListener } from '../../src/db/listener.ts'
import { silentLog } from '../../src/log.ts'
import { TEST_MASTER_KEY } from './certificate-fleet.ts'

const [databaseUrl = '', directoryUrl = '', ca = ''] = process.argv.slice(2)
const connection = { connectionString: databaseUrl }
const pool = createPool(connection, silentLog())
const listener = await createListener(connection, silentLog())
startOrdering(
  {
    pool,
    listener,
    vault: createVault({ pool, keys: parseMasterKeys(TEST_MASTER_KEY), dataDir: '/nowhere' }),
    transport: createTransport({ userAgent: 'test', ca }),
    clock: { nowMs: () => Date.now() },
    log: silentLog(),
    reach: async () => ({ kind: 'http-01' }),
  },
  {
    directoryUrl,
    email: null,
    perHour: 100,
    pollMs: 100,
    leaseMs: 1_500,
    times: { pollMs: 20, limitMs: 20_000 },
  },
)
console.log('ordering')
process.on('disconnect', () => process.exit())
