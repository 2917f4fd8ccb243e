import type { Config } from '../src/config.ts'
import { AppError } from '../src/errors.ts'
import { createAddressGuard } from '../src/gateway/address-guard.ts'
import { checkOriginUrl } from '../src/gateway/origin-url.ts'

const NAME_SERVERS_WITHIN_MS = 5_000

/** `--origin` in the spelling that is stored, after the same check as in the API. */
export async function originOf(raw: string, config: Config): Promise<string> {
  const guard = createAddressGuard(config.allowedPrivateOrigins)
  const check = await checkOriginUrl(raw, guard, { timeoutMs: NAME_SERVERS_WITHIN_MS })
  if (!check.ok) throw new AppError('invalid_origin', { word: check.reason })
  return check.originUrl
}
