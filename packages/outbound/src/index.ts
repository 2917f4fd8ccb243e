/** The door of this package; `./client` and `./headers` are beside it. What is not listed here is internal. */
export { type AddressGuard, createAddressGuard, isPublicAddress } from './address-guard.ts'
export { plainText, retryAfterMs } from './answers.ts'
export { type Answering, askAddresses, findsAnswer, insideTls, type LookForUs } from './ask-addresses.ts'
export { createFetchText, type FetchText, type GetOptions, readText } from './get.ts'
export { type ConnectFault, connectFault, guardedConnect } from './guarded-connect.ts'
export { type Lookup, lookupAddresses } from './lookup.ts'
export { isNoRecord, NameServers } from './name-servers.ts'
export {
  type Authority,
  DEFAULT_PORTS,
  hostInUrl,
  type OpenOriginHeaders,
  originAt,
  parseAuthority,
  parseHost,
  readOrigin,
} from './origin.ts'
export { checkOriginUrl } from './origin-url.ts'
