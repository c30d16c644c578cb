import { mount } from 'svelte';
import './style/tokens.css';
import './style/base.css';
import App from './App.svelte';
import { startRouting } from './location.svelte';
import { applyTheme } from './settings.svelte';

applyTheme();
startRouting();

const target = document.getElementById('app');
if (target) mount(App, { target });
