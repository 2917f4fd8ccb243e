/** The window at the provider says `confirmed` when it is back; the one that waits says `heard`, and the first closes. */
type Word = 'confirmed' | 'heard'

export function openSsoChannel(hear: (word: Word) => void): BroadcastChannel {
  const channel = new BroadcastChannel('prepaint-sso')
  channel.onmessage = ({ data }: MessageEvent<Word>) => hear(data)
  return channel
}
