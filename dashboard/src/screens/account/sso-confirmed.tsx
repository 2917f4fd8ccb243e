import { Text } from '@mantine/core'
import { useEffect } from 'react'
import { SignedOutFrame } from '../../shell/frame.tsx'
import { openSsoChannel } from './sso-channel.ts'

/** In the window in which a person has confirmed who it is: the one before goes on. */
export default function SsoConfirmed() {
  useEffect(() => {
    const channel = openSsoChannel((word) => {
      if (word === 'heard') window.close()
    })
    channel.postMessage('confirmed')
    return () => channel.close()
  }, [])
  return (
    <SignedOutFrame title="Confirmed">
      <Text size="sm">You have confirmed that it is you. You can close this window.</Text>
    </SignedOutFrame>
  )
}
