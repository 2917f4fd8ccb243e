import type { Log } from '@prepaint/runtime/log.ts'
import { MasterKeyError } from '@prepaint/service/certificates/vault/master-key.ts'
import type { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { CommandError } from '../command-line/command.ts'
import type { Config } from '../settings/config.ts'

/** A wrong master key is an error only if this node orders certificates; else it is logged. */
export async function checkMasterKey(
  { acme, roles, secretKeys }: Config,
  vault: Vault,
  log: Log,
): Promise<void> {
  if (acme.directory !== null && roles.has('edge')) {
    return vault.admit().catch((error: unknown) => {
      if (error instanceof MasterKeyError) throw new CommandError(error.message, { cause: error })
      throw error
    })
  }
  const fits = await vault.fits()
  if (fits && secretKeys !== null) return vault.admit()
  if (!fits) {
    log.error(
      'certificates in this database are encrypted with another master key: this node serves no TLS for them and ' +
        'accepts none. Set the same PREPAINT_SECRET_KEY on all nodes, see docs/tls.md.',
    )
  }
}
