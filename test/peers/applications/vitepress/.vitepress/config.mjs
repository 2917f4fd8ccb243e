export default {
  title: 'Lantern Works',
  cleanUrls: true,
  locales: {
    root: { label: 'English', lang: 'en' },
    de: { label: 'Deutsch', lang: 'de', themeConfig: { outline: { label: 'Auf dieser Seite' } } },
  },
  themeConfig: {
    search: { provider: 'local' },
    nav: [{ text: 'Guide', link: '/guide' }],
    sidebar: [{ text: 'Basics', items: [{ text: 'Trimming a wick', link: '/guide' }] }],
  },
}
