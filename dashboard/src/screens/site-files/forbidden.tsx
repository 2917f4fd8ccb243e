import { Text } from '@mantine/core'

/** What people search with, by the name of its crawler. Google is last, beside the question. */
const SEARCH_ENGINES: Record<string, string> = {
  Applebot: 'Siri and Spotlight',
  Baiduspider: 'Baidu',
  YandexBot: 'Yandex',
  DuckDuckBot: 'DuckDuckGo',
  Bingbot: 'Bing',
  Googlebot: 'Google',
}

export const SEARCH_CRAWLERS = Object.keys(SEARCH_ENGINES)

/** The question before the whole site is forbidden to these crawlers. */
export function ForbidsSite({ crawlers }: { crawlers: readonly string[] }) {
  const named = SEARCH_CRAWLERS.filter((crawler) => crawlers.includes(crawler))
  return named.map((crawler, at) => (
    <Text key={crawler} size="sm">
      This forbids the whole site to {crawler}. Its pages will disappear from {SEARCH_ENGINES[crawler]}.
      {at === named.length - 1 && ' Save anyway?'}
    </Text>
  ))
}
