import {
  browserSupportsWebAuthn,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
  WebAuthnError,
} from '@simplewebauthn/browser'
import { request } from '../../api/request.ts'

type Asked = { token: string; options: PublicKeyCredentialRequestOptionsJSON }

/** Lets the browser sign with one of its passkeys. Returns the fields that routes take. Throws with a text for people. */
export async function askPasskey() {
  const { token, options } = await request<Asked>('POST', '/api/session/passkey/options')
  return { token, response: await told(startAuthentication({ optionsJSON: options })) }
}

/** Lets the browser make a passkey. Throws with a text for people. */
export async function makePasskey() {
  type Answer = { options: PublicKeyCredentialCreationOptionsJSON }
  const { options } = await request<Answer>('POST', '/api/passkeys/options')
  return told(startRegistration({ optionsJSON: options }))
}

export function canUsePasskeys(): boolean {
  return browserSupportsWebAuthn()
}

async function told<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked
  } catch (error) {
    throw new Error(textOf(error), { cause: error })
  }
}

function textOf(error: unknown): string {
  if (error instanceof WebAuthnError && error.code === 'ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED') {
    return 'This device has a passkey for you already'
  }
  return 'The browser gave no passkey: it was cancelled, took too long, or there is none for this address'
}
