export default {
  title: 'Harbour pilot',
  url: 'https://docusaurus.example',
  baseUrl: '/',
  i18n: { defaultLocale: 'en', locales: ['en'] },
  presets: [['classic', { docs: { sidebarPath: './sidebars.mjs' }, blog: false }]],
  themeConfig: {
    announcementBar: { id: 'tide', content: 'High water at noon' },
    navbar: { title: 'Harbour pilot', items: [{ to: '/docs/', label: 'Manual' }] },
  },
}
